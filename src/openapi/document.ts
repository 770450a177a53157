import { componentSchemas } from './components.js';
import { keyApiPaths } from './key-api-paths.js';
import { loginApiPaths } from './login-api-paths.js';
import { baseServer } from './servers.js';

const DESCRIPTION = `Two HTTP interfaces of one marketplace: (A) a key API for reading the account and its items and for validating purchase codes; (B) a login with app, API version 1.1.

What the specification leaves "not shown" is optional here, or said so in words. Unknown fields are always allowed. Clients of real deployments meet harmless differences from this document, numbers as strings or null for absent; the package marketgate reads them into this shape.`;

/**
 * Both interfaces as OpenAPI 3.1. Built from the schemas, endpoints and messages that the clients work
 * with; the same version gives the same document. Nothing that an app imports loads this.
 *
 * @param version the package's.
 */
export const openApiDocument = (version: string) => ({
  openapi: '3.1.1',
  info: {
    title: 'Marketplace key API and login with app',
    version,
    description: DESCRIPTION,
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [baseServer],
  tags: [
    { name: 'Key API', description: 'Interface A, with a workspace’s api_key.' },
    { name: 'Login with app', description: 'Interface B, version 1.1: log users in by redirect.' },
  ],
  paths: { ...keyApiPaths, ...loginApiPaths },
  components: {
    securitySchemes: {
      apiKey: {
        type: 'apiKey',
        in: 'query',
        name: 'api_key',
        description:
          'The key of the workspace, from its settings. A secret: keep it on the server. It travels as a parameter; a header for it is not shown.',
      },
      accessToken: {
        type: 'apiKey',
        in: 'query',
        name: 'access_token',
        description: 'From the exchange. A secret; it lives for one hour.',
      },
    },
    schemas: componentSchemas(),
  },
});
