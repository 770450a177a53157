import type { CodeProblem } from '../errors.js';
import { codeForm } from './code-form.js';
import { type Html, html } from './html.js';

/** The page with the form for a code. */
export const redeemView = (problem?: CodeProblem): Html => html`<div class="narrow">
<h1>Redeem a purchase code</h1>
<p class="lead">Enter the code of something you bought. It then stands in your account, ready to download.</p>
<div class="panel">
${codeForm({ action: '/redeem', button: 'Redeem', problem })}
</div>
</div>`;
