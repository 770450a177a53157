import { type JsonSchema, schemaRef } from './components.js';

/** An answer in JSON. */
export const json = (description: string, schema: JsonSchema, examples?: object) => ({
  description,
  content: { 'application/json': { schema, ...(examples && { examples }) } },
});

/** An object with just these fields promised, and others allowed. */
export const objectOf = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

/** `{status: "success", …}`. */
export const success = (payload: Readonly<Record<string, JsonSchema>>): JsonSchema =>
  objectOf({ status: { type: 'string', const: 'success' }, ...payload });

/** The two ways in which an endpoint of interface A can answer, with its documented `msg`. */
export function keyApiAnswers(description: string, payload: JsonSchema, msg: string) {
  const error = schemaRef('KeyApiError');
  const documented = { summary: 'The documented error', value: { status: 'error', msg } };
  return {
    200: json(
      `${description} HTTP statuses are not shown in the specification: some deployments send errors with 200 as well.`,
      { oneOf: [payload, error] },
    ),
    '4XX': json(`An error, documented as "${msg}".`, error, { documented }),
  };
}

/** The two ways in which an endpoint of interface B can answer. */
export function loginApiAnswers(description: string, payload: JsonSchema) {
  const error = schemaRef('LoginApiError');
  return {
    200: json(`${description} Deployments send errors with 200 as well.`, {
      anyOf: [payload, error],
    }),
    '4XX': json('An error, as some deployments send it.', error),
  };
}
