import type { CodeProblem } from '../errors.js';
import { isAboutTheCode, wordsFor } from '../words.js';
import { type Html, html } from './html.js';

interface CodeForm {
  action: string;
  button: string;
  problem: CodeProblem | undefined;
}

/**
 * The field for a purchase code, and what came of the last try. Only a code that was refused is marked
 * as wrong: after an outage nothing is known of it.
 */
export function codeForm({ action, button, problem }: CodeForm): Html {
  const words = problem && wordsFor(problem.code);
  const isWrong = problem !== undefined && isAboutTheCode(problem.code);
  return html`${
    words &&
    html`<div class="notice ${isWrong ? 'bad' : 'wait'}" id="code-problem" role="alert">
<p><strong>${words.title}</strong></p>
<p>${words.text}</p>
</div>`
  }
<form class="code-form" method="post" action="${action}">
<label for="purchase_code">Purchase code</label>
<input id="purchase_code" name="purchase_code" type="text" required maxlength="200" value="${problem?.entered}"
 autocomplete="off" autocapitalize="off" spellcheck="false"
 aria-describedby="${words && 'code-problem '}code-hint"${isWrong && html` aria-invalid="true"`}${words && html` autofocus`}>
<p class="hint" id="code-hint">You find it on your receipt. Blanks around it do no harm.</p>
<button class="button">${button}</button>
</form>`;
}
