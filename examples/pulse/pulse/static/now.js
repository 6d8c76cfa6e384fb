const shown = document.getElementById('pulse');
const { open } = await (await fetch('/api/v1/pulse')).json();
const number = Object.values(open).reduce((sum, each) => sum + each, 0);
if (number) shown.textContent = shown.dataset.open.replace('{number}', number);
