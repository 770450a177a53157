import type { Request, Response } from 'express';
import { loggedIn } from './customer.js';
import type { Shop } from './shop.js';
import type { Html } from './views/html.js';
import { layout, type Section } from './views/layout.js';

/** What differs from page to page. */
export interface Page {
  title: string;
  main: Html;
  /** Which part of the navigation the page is in. */
  section?: Section;
}

/** Puts a page into the shop's frame and sends it, with the status that the response has. */
export function sendPage(req: Request, res: Response, shop: Shop, page: Page): void {
  const { shopName, marketplaceName } = shop.config;
  // After the login visitors come back to the page they are on, if there is one to come back to.
  const canReturn = req.method === 'GET' && res.statusCode === 200;
  const loginHref = canReturn ? `/login?to=${encodeURIComponent(req.originalUrl)}` : '/login';
  const frame = { shopName, marketplaceName, loginHref, customer: loggedIn(req) };
  res.type('html').send(layout({ ...page, ...frame }).toString());
}
