// Language and colours: the links work without us; we save colours the reload.
const YEAR_S = 365 * 24 * 3600;
const menu = document.querySelector('.menu');

function close() {
  if (!menu.open) return;
  menu.open = false;
  menu.querySelector('summary').focus();
}

menu.addEventListener('click', (event) => {
  const choice = event.target.closest('[data-theme-choice]');
  if (!choice) return;
  event.preventDefault();
  const theme = choice.dataset.themeChoice;
  document.documentElement.dataset.theme = theme;
  document.cookie = `theme=${theme}; path=/; max-age=${YEAR_S}; samesite=lax`;
  for (const other of menu.querySelectorAll('[data-theme-choice]')) {
    if (other === choice) other.setAttribute('aria-current', 'true');
    else other.removeAttribute('aria-current');
  }
});
menu.addEventListener('keydown', (event) => event.key === 'Escape' && close());
document.addEventListener('click', (event) => {
  if (!menu.contains(event.target)) menu.open = false;
});
