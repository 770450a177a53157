/** Reads a `Set-Cookie` line. */
export function parseSetCookie(line: string) {
  const [pair = '', ...attributes] = line.split('; ');
  const [name = '', value = ''] = pair.split('=');
  const given = new Map<string, string>();
  for (const attribute of attributes) {
    const [key = '', content = ''] = attribute.split('=');
    given.set(key, content);
  }
  return {
    name,
    value: decodeURIComponent(value),
    ...(given.has('HttpOnly') && { httpOnly: true }),
    ...(given.has('Secure') && { secure: true }),
    ...(given.has('SameSite') && { sameSite: given.get('SameSite')?.toLowerCase() }),
    ...(given.has('Path') && { path: given.get('Path') }),
    ...(given.has('Max-Age') && { maxAge: Number(given.get('Max-Age')) }),
  };
}
