const server = (name: string, description: string, example: string) => ({
  url: `{${name}}`,
  description,
  variables: { [name]: { default: example, description: 'Yours.' } },
});

/** Where interface A is. */
export const baseServer = server('base_url', 'Interface A, the key API.', 'https://market.example');

/** Where interface B is. */
export const authServer = server(
  'auth_url',
  'Interface B, login with app.',
  'https://login.market.example',
);
