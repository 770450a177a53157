import { type Html, html } from '../../html.js';
import { timestamp } from '../clock.js';
import type { SandboxContext } from '../context.js';

const STEPS = [
  [600_000, '+ 10 minutes'],
  [3_600_000, '+ 1 hour'],
  [86_400_000, '+ 1 day'],
  [2_592_000_000, '+ 30 days'],
  [-86_400_000, '− 1 day'],
] as const;

/** The sandbox's time, with steps to move it by. */
export function clockSection({ clock }: SandboxContext): Html {
  const now = clock.now();
  return html`<section class="card" id="clock" data-live aria-labelledby="clock-title">
<div class="bar"><h2 id="clock-title" tabindex="-1">Clock</h2>
<form method="post" action="/sandbox/console/clock"><button class="quiet" name="reset" value="1">Set right</button></form></div>
<p class="time"><time data-now="${now}" datetime="${timestamp(now)}">${timestamp(now).replace('T', ' ').replace('Z', ' UTC')}</time></p>
<p class="muted small">An access_token lives one hour. Support dates are compared with this clock.</p>
<form method="post" action="/sandbox/console/clock" class="inline">${STEPS.map(
    ([step, label]) => html`<button class="quiet" name="advance" value="${step}">${label}</button>`,
  )}</form>
<form method="post" action="/sandbox/console/clock" class="inline" data-keep>
<label class="field grow">Date and time, UTC<input type="datetime-local" step="1" name="set" value="${timestamp(now).slice(0, 19)}"></label>
<button class="quiet end">Set</button></form></section>`;
}
