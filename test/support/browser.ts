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
  async pressContinue(visit: Visit): Promise<Visit> {
    const { action, fields } = formOf(visit);
    return this.open(new URL(`?${fields}`, action).href);
  }

  /** As {@link logIn}, up to the address of the callback, which is not opened. */
  async logInUpToCallback(start: string, userId?: string): Promise<string> {
    const isCallback = (url: URL) => url.searchParams.has('auth_key');
    let visit = await this.#follow(start, {}, isCallback);
    while (!visit.headers.has('location')) {
      const { action, fields: body } = formOf(visit);
      if (body.has('decision')) body.set('decision', 'accept');
      if (body.has('user_id') && userId !== undefined) body.set('user_id', userId);
      visit = await this.#follow(action, { method: 'POST', body }, isCallback);
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
      const [, name = '', value = '', attributes = ''] = /^([^=]*)=([^;]*)(.*)/.exec(cookie) ?? [];
      const expires = /;\s*expires=([^;]*)/i.exec(attributes)?.[1] ?? '';
      const isOver = Date.parse(expires) <= Date.now() || /;\s*max-age=0\b/i.test(attributes);
      if (isOver) jar.delete(name);
      else jar.set(name, value);
    }
  }
}

/** The one form of a page, as its first button sends it. */
function formOf({ text, url, status }: Visit): { action: string; fields: URLSearchParams } {
  const form = /<form\b[^>]*>[\s\S]*?<\/form>/.exec(text)?.[0];
  if (form === undefined) throw new Error(`no form on ${url} (HTTP ${status})`);
  const fields = new URLSearchParams();
  for (const [, name = '', value = ''] of form.matchAll(/\bname="([^"]*)" value="([^"]*)"/g)) {
    if (!fields.has(name)) fields.set(name, value);
  }
  const action = /\baction="([^"]*)"/.exec(form)?.[1] ?? '';
  return { action: new URL(action, url).href, fields };
}
