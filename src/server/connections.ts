/** The server's sockets, so that closing it depends on no client. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../lib/clock.ts";

export class Connections {
  readonly #server: Server;
  readonly #idle = new Set<Socket>();
  #closing = false;

  constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#idle.add(socket);
      socket.once("close", () => this.#idle.delete(socket));
    });
    server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#idle.delete(socket);
      response.once("close", () => this.#becameIdle(socket));
    });
  }

  /** Closes at once what waits for a request, and what is still answering after the grace. */
  async close(clock: Clock, graceMs: number): Promise<void> {
    this.#closing = true;
    const closed = Promise.withResolvers<void>();
    const done = new AbortController();
    this.#server.close(() => closed.resolve());
    for (const socket of this.#idle) socket.destroy();
    const grace = clock.sleep(graceMs, done.signal).then(
      () => this.#server.closeAllConnections(),
      () => {},
    );
    await closed.promise;
    done.abort();
    await grace;
  }

  #becameIdle(socket: Socket): void {
    if (socket.destroyed) return;
    if (this.#closing) socket.destroySoon();
    else this.#idle.add(socket);
  }
}
