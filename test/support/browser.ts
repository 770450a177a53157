/** An answer, with the address it came from after all redirects. */
export interface Visit {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const LONGEST_CHAIN = 12;

/**
 * As much of a browser as a login needs: cookies by host and port (real ones ignore the port, which
 * would mix the two servers of a test on one host), redirects, forms.
 */
export class Browser {
  readonly #jars = new Map<string, Map<string, string>>();
  /** Every address that was asked for, redirects too. */
  readonly history: string[] = [];

  /** Goes to a page as a person does, and follows redirects. */
  async open(url: string, headers: Record<string, string> = {}): Promise<Visit> {
    return this.#follow(url, { headers });
  }

  /** Asks once, without following. */
  async get(url: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.request(url, { headers });
  }

  /** Sends a form and follows redirects. */
  async submit(url: string, fields: Record<string, string>): Promise<Visit> {
    return this.#follow(url, { method: 'POST', body: new URLSearchParams(fields) });
  }

  /** Logs in at the sandbox: chooses the user and accepts. Ends where the app leads. */
  async logIn(start: string, userId?: string): Promise<Visit> {
    return this.open(await this.logInUpToCallback(start, userId));
  }

  /** Presses "Continue" on the page that asks about a login. */
  async pressContinue({ url, text }: Visit): Promise<Visit> {
    const { action, fields } = formOf({ url, text, status: 200 }, undefined);
    const target = new URL(action);
    target.search = String(new URLSearchParams({ ...fields, answer: 'continue' }));
    return this.open(target.href);
  }

  /** As {@link logIn}, up to the address of the callback, which is not opened. */
  async logInUpToCallback(start: string, userId?: string): Promise<string> {
    const isCallback = (url: URL) => url.searchParams.has('auth_key');
    let visit = await this.#follow(start, {}, isCallback);
    while (!visit.headers.has('location')) {
      const { action, fields } = formOf(visit, userId);
      const init = { method: 'POST', body: new URLSearchParams(fields) };
      visit = await this.#follow(action, init, isCallback);
    }
    return new URL(visit.headers.get('location') ?? '', visit.url).href;
  }

  /** The cookies that the browser holds for an origin. */
  cookies(origin: string): string {
    return [...(this.#jars.get(new URL(origin).host) ?? [])]
      .map(([name, value]) => `${name}=${value}`)
      .join('; ');
  }

  clearCookies(): void {
    this.#jars.clear();
  }

  async #follow(
    url: string,
    init: RequestInit,
    stopBefore: (url: URL) => boolean = () => false,
  ): Promise<Visit> {
    let next = url;
    let request = init;
    for (let i = 0; i < LONGEST_CHAIN; i++) {
      const response = await this.request(next, request);
      const location = response.headers.get('location');
      const target = location === null ? undefined : new URL(location, next);
      if (target === undefined || stopBefore(target)) {
        const { status, headers } = response;
        return { url: next, status, headers, text: await response.text() };
      }
      await response.body?.cancel();
      next = target.href;
      request = init.headers ? { headers: init.headers } : {};
    }
    throw new Error(`more than ${LONGEST_CHAIN} redirects, last to ${new URL(next).pathname}`);
  }

  async request(url: string, init: RequestInit): Promise<Response> {
    this.history.push(url);
    const headers = new Headers({ accept: 'text/html', ...(init.headers as object) });
    const cookies = this.cookies(url);
    // A test gives the cookies of a request that was under way for long.
    if (cookies !== '' && !headers.has('cookie')) headers.set('cookie', cookies);
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    this.#keep(new URL(url).host, response.headers.getSetCookie());
    return response;
  }

  #keep(host: string, setCookies: readonly string[]): void {
    const jar = this.#jars.get(host) ?? new Map<string, string>();
    this.#jars.set(host, jar);
    for (const cookie of setCookies) {
      const [pair = '', ...attributes] = cookie.split(';');
      const [name = '', ...value] = pair.split('=');
      const expires = attributes.map((a) => /^\s*expires=(.*)$/i.exec(a)?.[1]).find(Boolean);
      const isOver = expires !== undefined && Date.parse(expires) <= Date.now();
      if (isOver || attributes.some((a) => /^\s*max-age=0$/i.test(a))) jar.delete(name.trim());
      else jar.set(name.trim(), value.join('='));
    }
  }
}

/** The one form of the sandbox's page, filled in: that user (or the first), and "accept". */
function formOf(
  { text, url, status }: Pick<Visit, 'text' | 'url' | 'status'>,
  userId: string | undefined,
): { action: string; fields: Record<string, string> } {
  const form = /<form\b[^>]*>[\s\S]*?<\/form>/.exec(text)?.[0];
  if (form === undefined) throw new Error(`no form on ${url} (HTTP ${status})`);
  const fields: Record<string, string> = {};
  for (const [, name = '', value = ''] of form.matchAll(/\bname="([^"]*)" value="([^"]*)"/g)) {
    fields[name] ??= value;
  }
  if ('decision' in fields) fields.decision = 'accept';
  if ('user_id' in fields && userId !== undefined) fields.user_id = userId;
  const action = /\baction="([^"]*)"/.exec(form)?.[1] ?? '';
  return { action: new URL(action, url).href, fields };
}
