import type { SandboxCode } from 'marketgate/sandbox';

interface Start {
  origin: string;
  redirectUrl: string;
  shopName: string;
  /** Present when the sandbox runs inside. */
  sandbox: { baseUrl: string; codes: readonly SandboxCode[] } | undefined;
}

/** What each kind of code shows in this shop; kinds that are not here show nothing new. */
const SHOWS: Readonly<Record<string, string>> = {
  supported: 'accepted: download and support',
  'support-over': 'accepted, but "Get support" is refused: its time is over',
  'audio-item': 'accepted: a licence of another kind, for something to hear',
  'other-item': 'accepted in /redeem; refused on the page of item 1042',
  'deleted-item': 'accepted, though its item has left the catalogue',
  refunded: 'refused: the marketplace does not know it any more',
};

/** Where to click, and what to type there. */
export function startMessage({ origin, redirectUrl, shopName, sandbox }: Start): string {
  if (sandbox === undefined) {
    return `
  ${shopName} is open at ${origin}

  Redirect URL to register with your app on the marketplace: ${redirectUrl}
`;
  }
  const codes = Object.entries(SHOWS).flatMap(([kind, shows]) => {
    const found = sandbox.codes.find((code) => code.kind === kind);
    return found
      ? [`    ${found.code}  ${found.item_name} (${found.item_id})\n${' '.repeat(42)}${shows}`]
      : [];
  });
  return `
  ${shopName} is open. The marketplace is a sandbox inside this process.

  Look first at
    ${origin}/  the catalogue
    ${origin}/items/1042  an item, with its download
    ${origin}/account  log in as anybody, then redeem a code
    ${sandbox.baseUrl}/  the sandbox: every request, keys, faults to switch on

  Purchase codes to try at ${origin}/redeem
${codes.join('\n')}
    aaaaaaaa-0000-4000-8000-000000000000  no such purchase
${' '.repeat(42)}refused, in words

  Without a browser
    curl -OJ -H "X-Purchase-Code: ${sandbox.codes[0]?.code}" ${origin}/items/1042/download

  Ctrl-C stops it.
`;
}
