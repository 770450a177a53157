/** What the console needs beside the style sheet of all pages. */
export const CONSOLE_STYLE = `
html { scroll-padding-top: 4rem; }
html:not(.js) [data-script], .js [data-no-script] { display: none; }
main.wide, .top > div { max-width: 92rem; }
main.wide { gap: 1.25rem; padding-top: 1.5rem; }
.hide { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.bar { display: flex; gap: .5rem .75rem; align-items: center; flex-wrap: wrap; }
.bar > :first-child { margin-right: auto; }
.card, .card > h2, section { scroll-margin-top: 4rem; }
h2:focus { outline: none; }
.card h3 { font-weight: 620; }
.card h3 .muted { font-weight: 400; font-size: .88rem; }
.muted .badge { vertical-align: middle; }

.console, .column { display: grid; gap: 1.25rem; align-content: start; min-width: 0; }
@media (min-width: 70rem) { .console { grid-template-columns: minmax(0, 1.7fr) minmax(24rem, 1fr); } }

.contents { position: sticky; top: 0; z-index: 1; display: flex; gap: .25rem; overflow-x: auto; padding: .5rem; margin: 0 -.5rem; background: var(--paper); }
.contents a { color: var(--muted); text-decoration: none; font-size: .92rem; font-weight: 550; padding: .35rem .7rem; border-radius: 8px; white-space: nowrap; }
.contents a:hover { color: var(--ink); background: var(--card); }
.contents .badge { padding: .2rem .42rem; }

.pill { display: inline-flex; align-items: center; gap: .5rem; font-size: .88rem; font-weight: 600; border: 1px solid var(--line); background: var(--card); border-radius: 99px; padding: .3rem .85rem .3rem .7rem; }
.pill::before { content: ''; width: .55rem; height: .55rem; border-radius: 50%; background: var(--muted); }
.pill[data-tone='good']::before { background: var(--good); box-shadow: 0 0 0 3px var(--tint); }
.pill[data-tone='bad']::before { background: var(--bad); box-shadow: 0 0 0 3px var(--bad-tint); }

.segments { display: inline-flex; flex-wrap: wrap; border: 1px solid var(--line); border-radius: 9px; padding: 2px; background: var(--sunken); }
.segments button { border: 0; background: none; padding: .22rem .65rem; font-size: .84rem; font-weight: 550; color: var(--muted); border-radius: 7px; }
.segments button:hover { color: var(--ink); }
.segments [aria-pressed='true'] { background: var(--card); color: var(--ink); box-shadow: 0 0 0 1px var(--line); }
button.quiet[aria-pressed='true'] { background: var(--warn-tint); color: var(--warn); border-color: currentColor; }
button.danger { color: var(--bad); }
button.danger:hover { color: var(--bad); border-color: var(--bad); }
button.done, button.done:hover { color: var(--good); border-color: var(--good); background: var(--tint); }

.tall { max-height: 31rem; overflow-y: auto; overscroll-behavior: contain; margin: 0 -1.5rem -1.5rem; padding: 0 1.5rem; border-top: 1px solid var(--line); border-radius: 0 0 16px 16px; }
.tall thead th { position: sticky; top: 0; background: var(--card); padding-top: .6rem; }
.requests td { font-size: .9rem; }
@media (min-width: 641px) { .requests td { padding-block: .42rem; } }
.requests .empty td { padding: 2.5rem 0 3rem; text-align: center; color: var(--muted); }
.requests .method { font-weight: 650; }
button.quiet { white-space: nowrap; flex: none; }
.nowrap { white-space: nowrap; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.param { display: inline-block; margin-right: .5rem; color: var(--muted); overflow-wrap: anywhere; }
.param b { font-weight: 550; color: var(--ink); }
.requests[data-view='key-api'] tbody tr:not([data-interface='key-api']),
.requests[data-view='login-api'] tbody tr:not([data-interface='login-api']),
.requests[data-view='page'] tbody tr:not([data-interface='page']),
.requests[data-view='failed'] tbody tr:not([data-failed='yes']) { display: none; }
@media (prefers-reduced-motion: no-preference) {
  @keyframes arrive { from { background: var(--tint); } to { background: transparent; } }
  .requests .new { animation: arrive 1.4s ease-out; }
}

#purchases .fields { grid-template-columns: repeat(auto-fit, minmax(min(9.5rem, 100%), 1fr)); }
#purchases .end button { white-space: nowrap; padding-inline: .5rem; }
.row-actions { display: flex; gap: .4rem; justify-content: flex-end; }
td .code { white-space: normal; display: inline-block; margin-bottom: .3rem; }
.copyable { display: flex; gap: .6rem; align-items: flex-start; justify-content: space-between; }
.copyable code { padding-top: .2rem; }
.entry { display: grid; gap: .7rem; border-top: 1px solid var(--line); padding-top: 1rem; }
.entry .facts { grid-template-columns: minmax(4.8rem, auto) 1fr; align-items: baseline; }
.list { list-style: none; padding: 0; display: grid; gap: .6rem; grid-template-columns: repeat(auto-fill, minmax(min(25rem, 100%), 1fr)); }
.list .who { flex-wrap: wrap; gap: .5rem .6rem; }
.list .who p { flex: 1 1 9rem; }
.time { font: 600 1.35rem/1.2 var(--mono); letter-spacing: -.02em; }
.grow { flex: 1; }
button.end { align-self: flex-end; padding-block: .52rem; }

.switches { list-style: none; padding: 0; margin: 0 -.75rem; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); column-gap: 1.5rem; }
.switch { display: flex; gap: .25rem .9rem; align-items: center; justify-content: space-between; padding: .45rem .75rem; border-top: 1px solid var(--line); min-height: 3.4rem; }
.switch.on { background: var(--warn-tint); border-radius: 8px; }
.switch.on .muted { color: var(--ink); }
.switch label { display: grid; flex: 1 1 10rem; min-width: 0; line-height: 1.35; }
.switch label code { font-weight: 600; }
.control { flex: none; display: flex; gap: .45rem; align-items: center; justify-content: flex-end; }
.control input[type='number'] { width: 6.5rem; }
.control select { width: 10.5rem; }
input[role='switch'] { appearance: none; width: 2.5rem; height: 1.45rem; border-radius: 99px; background: var(--muted); border: 0; padding: 0; position: relative; cursor: pointer; flex: none; }
input[role='switch']::after { content: ''; position: absolute; inset: .2rem auto .2rem .2rem; width: 1.05rem; border-radius: 50%; background: var(--card); }
input[role='switch']:checked { background: var(--accent); }
input[role='switch']:checked::after { transform: translateX(1.05rem); }
input[role='switch']:focus-visible { border-radius: 99px; }

.toast { position: fixed; left: 50%; bottom: 1.25rem; translate: -50% 0; z-index: 3; max-width: calc(100vw - 2rem); padding: .6rem 1.1rem; border-radius: 12px; background: var(--ink); color: var(--paper); font-size: .92rem; font-weight: 550; box-shadow: var(--shadow); }
.toast:empty { display: none; }
.toast[data-tone='bad'] { background: var(--bad); color: var(--card); }

@media (max-width: 640px) {
  .contents { margin: 0 -1rem; padding: .5rem 1rem; border-bottom: 1px solid var(--line); }
  .tall { margin: 0 -1.15rem -1.15rem; padding: 0 1.15rem; max-height: 26rem; }
  .bar .segments { order: 1; width: 100%; }
  .segments button { padding-inline: .25rem; flex: auto; font-size: .78rem; }
  .requests td { padding: 0; }
  .requests tr { grid-template-columns: auto auto 1fr; align-items: baseline; gap: .2rem .7rem; padding: .65rem 0; }
  .requests .what, .requests .params { grid-column: 1 / -1; }
  .requests .number { grid-row: 1; grid-column: 3; }
  .requests .empty td { grid-column: 1 / -1; padding: 1.5rem 0 2rem; }
  .requests tbody tr:first-child { padding-top: .65rem; }
  .row-actions { justify-content: flex-start; flex-wrap: wrap; }
  .switch { flex-wrap: wrap; }
  .control { max-width: 100%; }
}
@media (forced-colors: active) {
  input[role='switch'] { appearance: auto; width: 1.1rem; height: 1.1rem; }
  input[role='switch']::after { content: none; }
}
`;
