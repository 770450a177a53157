import { createHash } from 'node:crypto';

/** The one style sheet of all pages, inline: a page of the sandbox needs nothing else to look right. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #f3f4ef; --card: #ffffff; --sunken: #f8f9f5; --line: #dcdfd6; --ink: #17211d; --muted: #56635c;
  --accent: #0b6a58; --accent-strong: #07503f; --on-accent: #ffffff; --tint: #e2f1ea;
  --good: #0b6a58; --warn: #8a5200; --bad: #a3242b; --warn-tint: #fdf0d8; --bad-tint: #fbe6e5;
  --shadow: 0 1px 2px rgb(23 33 29 / 6%), 0 12px 32px -16px rgb(23 33 29 / 22%);
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0f1513; --card: #18211e; --sunken: #131b18; --line: #2c3833; --ink: #e8efeb; --muted: #9fb0a8;
    --accent: #58d0b0; --accent-strong: #7fe3c8; --on-accent: #06241c; --tint: #16352c;
    --good: #6fdcbd; --warn: #f0b95a; --bad: #ff9a94; --warn-tint: #38290f; --bad-tint: #3d1c1d;
    --shadow: 0 1px 2px rgb(0 0 0 / 40%), 0 16px 40px -20px rgb(0 0 0 / 70%);
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; min-height: 100vh; display: flex; flex-direction: column; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif;
}
h1, h2, h3, p, ul, ol, dl, dd, figure { margin: 0; }
h1 { font-size: 1.6rem; line-height: 1.2; letter-spacing: -.02em; text-wrap: balance; }
h2 { font-size: 1.12rem; line-height: 1.3; letter-spacing: -.01em; }
h3 { font-size: 1rem; }
a { color: var(--accent); text-underline-offset: .18em; text-decoration-thickness: 1px; }
a:hover { color: var(--accent-strong); }
code, kbd { font-family: var(--mono); font-size: .86em; overflow-wrap: anywhere; }
img, video, audio { max-width: 100%; height: auto; display: block; }
audio { width: 100%; height: 3.4rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 6px; }
.muted { color: var(--muted); }
.small { font-size: .88rem; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem 1rem; z-index: 2; }

.top { border-bottom: 1px solid var(--line); background: var(--card); }
.top > div { max-width: 68rem; margin: 0 auto; padding: .75rem 1.25rem; display: flex; gap: 1rem; align-items: center; flex-wrap: wrap; }
.brand { display: inline-flex; gap: .6rem; align-items: center; font-weight: 650; color: inherit; text-decoration: none; margin-right: auto; }
.brand:hover { color: inherit; }
.brand svg { width: 1.75rem; height: 1.75rem; }
.brand span { color: var(--muted); font-weight: 450; }
.top nav { display: flex; gap: .25rem; }
.top nav a { color: var(--muted); text-decoration: none; padding: .35rem .7rem; border-radius: 7px; font-size: .94rem; }
.top nav a:hover, .top nav a[aria-current] { color: var(--ink); background: var(--paper); }
main { width: 100%; max-width: 68rem; margin: 0 auto; padding: 2.25rem 1.25rem 3rem; display: grid; gap: 1.75rem; flex: 1; align-content: start; }
main.narrow { max-width: 29rem; padding-top: clamp(1.5rem, 8vh, 5rem); }
.foot { border-top: 1px solid var(--line); color: var(--muted); font-size: .86rem; text-align: center; padding: 1rem 1.25rem 1.25rem; }

.card { background: var(--card); border: 1px solid var(--line); border-radius: 16px; box-shadow: var(--shadow); padding: 1.5rem; display: grid; gap: 1rem; align-content: start; min-width: 0; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 1.25rem; }
.lead { display: grid; gap: .5rem; max-width: 44rem; }
.lead p { color: var(--muted); font-size: 1.05rem; }

button, .button {
  font: inherit; font-weight: 600; color: var(--ink); background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: .62rem 1.1rem; cursor: pointer; text-decoration: none; text-align: center; display: inline-block;
}
button:hover, .button:hover { border-color: var(--muted); color: var(--ink); }
button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
button.primary:hover { background: var(--accent-strong); border-color: var(--accent-strong); color: var(--on-accent); }
button.quiet { padding: .3rem .7rem; font-size: .86rem; font-weight: 550; border-radius: 8px; }
.actions { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; }

.tile { width: 3.25rem; height: 3.25rem; border-radius: 14px; flex: none; }
.round { border-radius: 50%; object-fit: cover; }
.pair { display: flex; align-items: center; justify-content: center; gap: .75rem; }
.pair::before { content: ''; width: 2.75rem; border-top: 2px dotted var(--muted); order: 1; }
.pair > :last-child { order: 2; }
.center { text-align: center; justify-items: center; }
.people { list-style: none; padding: 0; display: grid; gap: .6rem; }
.people button { width: 100%; display: flex; gap: .9rem; align-items: center; text-align: left; padding: .7rem .85rem; font-weight: 450; border-radius: 12px; }
.people button:hover { background: var(--sunken); }
.people img { width: 2.6rem; height: 2.6rem; }
.people b { display: block; font-weight: 620; line-height: 1.3; }
.people .grow { flex: 1; min-width: 0; overflow-wrap: anywhere; }
.grants { list-style: none; padding: 0; display: grid; gap: .6rem; }
.grants li { display: flex; gap: .65rem; }
.grants svg { width: 1.15rem; height: 1.15rem; margin-top: .2rem; flex: none; color: var(--accent); }
.who { display: flex; gap: .75rem; align-items: center; background: var(--sunken); border: 1px solid var(--line); border-radius: 12px; padding: .6rem .8rem; }
.who img { width: 2.2rem; height: 2.2rem; }
.who p { flex: 1; min-width: 0; line-height: 1.35; overflow-wrap: anywhere; }

.badge { display: inline-block; font-size: .78rem; font-weight: 600; line-height: 1; padding: .32rem .5rem; border-radius: 99px; white-space: nowrap; background: var(--tint); color: var(--good); }
.badge.warn { background: var(--warn-tint); color: var(--warn); }
.badge.bad { background: var(--bad-tint); color: var(--bad); }
.badge.plain { background: var(--paper); color: var(--muted); }

table { width: 100%; border-collapse: collapse; font-size: .93rem; }
th { text-align: left; font-size: .8rem; font-weight: 600; color: var(--muted); padding: 0 .9rem .5rem 0; white-space: nowrap; }
td { padding: .6rem .9rem .6rem 0; border-top: 1px solid var(--line); vertical-align: top; }
td:last-child, th:last-child { padding-right: 0; }
td code { white-space: nowrap; }
.scroll { overflow-x: auto; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--sunken); border: 1px solid var(--line); border-radius: 10px; padding: .8rem 1rem; font: .84rem/1.6 var(--mono); }
dl.facts { display: grid; grid-template-columns: minmax(6.5rem, auto) 1fr; gap: .45rem 1.25rem; font-size: .94rem; }
dl.facts dt { color: var(--muted); }
dl.facts dd { min-width: 0; overflow-wrap: anywhere; }

.shelf { list-style: none; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 1rem; }
.shelf a { display: grid; gap: .45rem; color: inherit; text-decoration: none; font-size: .92rem; line-height: 1.3; }
.shelf img { width: 100%; aspect-ratio: 1; object-fit: cover; border-radius: 14px; border: 1px solid var(--line); }
.shelf a:hover b { text-decoration: underline; text-underline-offset: .18em; }
.hero img, .hero video { width: 100%; border-radius: 16px; border: 1px solid var(--line); aspect-ratio: 2; object-fit: cover; background: #000; }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(13rem, 100%), 1fr)); gap: .9rem; }
.field { display: grid; gap: .25rem; font-size: .9rem; align-content: start; }
input, select { font: inherit; color: var(--ink); background: var(--sunken); border: 1px solid var(--line); border-radius: 9px; padding: .45rem .6rem; width: 100%; min-width: 0; }
input[type='checkbox'] { width: 1.1rem; height: 1.1rem; accent-color: var(--accent); }
.field.end { align-content: end; }
.form { display: grid; gap: 1.25rem; }
.inline { display: flex; gap: .6rem; align-items: center; flex-wrap: wrap; }
.inline h2 { margin-right: auto; }
.inline input { flex: 1; min-width: 9rem; }
dd form { margin-top: .35rem; }
.last { justify-content: flex-end; flex-wrap: nowrap; }
@media (max-width: 640px) { .last { justify-content: flex-start; } }
.check { display: flex; gap: .55rem; align-items: center; font-size: .92rem; }

@media (max-width: 640px) {
  .top > div { gap: .4rem; padding: .65rem 1rem; }
  .top nav { margin-left: -.7rem; }
  main, main.narrow { padding: 1.25rem 1rem 2rem; }
  .card { padding: 1.15rem; }
  .stack thead { position: absolute; left: -999px; }
  .stack tr { display: grid; gap: .3rem; padding: .85rem 0; border-top: 1px solid var(--line); }
  .stack tr:first-child { border-top: 0; padding-top: 0; }
  .stack td { padding: 0; border: 0; }
  .stack td code { white-space: normal; }
  dl.facts { grid-template-columns: 1fr; gap: .1rem; }
  dl.facts dd { margin-bottom: .6rem; }
}
@media (prefers-reduced-motion: no-preference) {
  button, .button, .top nav a { transition: background-color .12s, border-color .12s, color .12s; }
}
`;

/** What a content security policy calls this style sheet, so that no other inline style is allowed. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;
