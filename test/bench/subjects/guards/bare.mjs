/** No guard at all: the route alone. */
export default async () => ({ itemOf: () => 1042 });
