/** What the console adds where scripts run: copy buttons, and requests as they come in. */
export const CONSOLE_SCRIPT = `'use strict';
for (const button of document.querySelectorAll('[data-copy]')) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
}
const requests = document.getElementById('requests');
setInterval(async () => {
  if (document.hidden) return;
  try {
    const answer = await fetch('/sandbox/console/requests');
    const text = await answer.text();
    if (answer.ok && text !== requests.dataset.last) {
      requests.dataset.last = text;
      requests.innerHTML = text;
    }
  } catch {
    // The sandbox was stopped; the next round may find it again.
  }
}, 1000);
`;
