// Copies, and keeps up to date what changes by itself. Everything else is plain forms.
document.addEventListener('click', async ({ target }) => {
  const button = target.closest('[data-copy]');
  if (!button) return;
  const { copy, label = button.textContent } = button.dataset;
  button.dataset.label = label;
  try {
    await navigator.clipboard.writeText(copy);
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = label), 1500);
  } catch {
    // Browsers let a page copy over https and on this machine only.
    prompt('Copy this:', copy);
  }
});

setInterval(async () => {
  if (document.hidden) return;
  const answer = await fetch(location.href).catch(() => undefined);
  document.body.classList.toggle('gone', !answer?.ok);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const part of document.querySelectorAll('[data-live]')) {
    const fresh = page.getElementById(part.id)?.innerHTML;
    if (part.innerHTML !== fresh && !part.contains(document.activeElement)) part.innerHTML = fresh;
  }
}, 1500);
