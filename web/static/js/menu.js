// The header's menus; language and colours: the links work without us, we save colours the reload.
import { user } from './user.js';

const YEAR_S = 365 * 24 * 3600;
const menus = [...document.querySelectorAll('.menu')];

function close(menu) {
  if (!menu.open) return;
  menu.open = false;
  menu.querySelector('summary').focus();
}

document.addEventListener('click', (event) => {
  for (const menu of menus) if (!menu.contains(event.target)) menu.open = false;
  const choice = event.target.closest('[data-theme-choice]');
  if (!choice) return;
  event.preventDefault();
  const theme = choice.dataset.themeChoice;
  document.documentElement.dataset.theme = theme;
  document.cookie = `theme=${theme}; path=/; max-age=${YEAR_S}; samesite=lax`;
  for (const other of document.querySelectorAll('[data-theme-choice]')) {
    if (other === choice) other.setAttribute('aria-current', 'true');
    else other.removeAttribute('aria-current');
  }
});
// Another language is for the same page: what its address asks for stays, such as an invitation.
for (const link of document.querySelectorAll('.menu [hreflang]')) {
  const wanted = new URLSearchParams(location.search);
  wanted.set('lang', link.hreflang);
  link.search = wanted;
}
for (const menu of menus) {
  menu.addEventListener('keydown', (event) => event.key === 'Escape' && close(menu));
  menu.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
  });
}
const developing = document.querySelector('.developing input');
developing.addEventListener('change', () => (user.isDeveloping = developing.checked));
user.follow(() => (developing.checked = user.isDeveloping));
