import type { RequestHandler } from 'express';
import type { AppConfig } from '../config.js';

/**
 * Headers that bound what a page of the shop can do, should something of a stranger's ever get into
 * one. There is no script at all, so none is allowed.
 */
export function securityHeaders(config: AppConfig): RequestHandler {
  const policy = contentSecurityPolicy(config);
  return (req, res, next) => {
    res.setHeader('Content-Security-Policy', policy);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    // The callback's address holds an auth_key: no other site gets to see where a click came from.
    res.setHeader('Referrer-Policy', 'same-origin');
    res.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    if (config.production && req.secure) {
      res.setHeader('Strict-Transport-Security', 'max-age=31536000');
    }
    next();
  };
}

/** Pictures, video and sound come from the marketplace; everything else from here or nowhere. */
function contentSecurityPolicy({ service, mediaOrigins }: AppConfig): string {
  const origins = [service.baseUrl, service.authUrl].map((url) => new URL(url).origin);
  const media = [...new Set([...origins, ...mediaOrigins])].join(' ');
  return [
    "default-src 'none'",
    "style-src 'self'",
    `img-src 'self' ${media}`,
    `media-src ${media}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
