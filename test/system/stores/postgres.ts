import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';

/** A PostgreSQL on a loopback port, in this process and in memory: real SQL, and no server to install. */
export async function startPostgres() {
  const db = await PGlite.create();
  const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 20 });
  await server.start();
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= server.stop();
    return stopping;
  };
  return {
    uri: `postgresql://postgres:postgres@${server.getServerConn()}/postgres`,
    db,
    /** Cuts all connections and takes no new ones. */
    stop,
    /** Stops, and gives back the memory. */
    close: async (): Promise<void> => {
      await stop();
      await db.close();
    },
  };
}
