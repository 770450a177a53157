import { Agent } from 'node:http';
import { OAuth2 } from 'oauth';
import { formOf } from './form.mjs';

/** What is under passport-oauth2, with the agent that it lets one set. */
export default async ({ url }) => {
  const client = new OAuth2('id', 'secret', url, '', '', null);
  client.setAgent(new Agent({ keepAlive: true }));
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  return (code) =>
    new Promise((resolve, reject) => {
      client._request('POST', url, headers, formOf(code), null, (error, text) =>
        error ? reject(error) : resolve(JSON.parse(text).data.purchase),
      );
    });
};
