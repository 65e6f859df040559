/**
 * The server's sockets. Closing the server depends on no client, and clients that send nothing, or never prove who they
 * are, cannot keep others out: past a limit, the oldest of them is closed.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "@aegis/lib/clock.ts";
import type { ServerLimits } from "./limits.ts";

type ConnectionLimits = Pick<ServerLimits, "connections" | "strangers" | "strangerMs" | "stallMs" | "unreadBytes">;

export class Connections {
  readonly #server: Server;
  readonly #limits: ConnectionLimits;
  // Each in the order in which its sockets joined it, so that the first has been there longest.
  readonly #open = new Set<Socket>();
  /** With the time at which each joined. */
  readonly #strangers = new Map<Socket, number>();
  readonly #idle = new Set<Socket>();
  /** Those whose clients have not read their whole answer yet. */
  readonly #unread = new Set<Socket>();
  #closing = false;

  constructor(server: Server, limits: ConnectionLimits) {
    this.#server = server;
    this.#limits = limits;
    server.on("connection", (socket: Socket) => this.#add(socket));
    server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#idle.delete(socket);
      response.once("close", () => this.#becameIdle(socket));
      response.once("prefinish", () => this.#expectReader(socket, response));
    });
  }

  /** A request on this socket came with a token. */
  prove(socket: Socket): void {
    this.#strangers.delete(socket);
  }

  /** Closes immediately what waits for a request, and what is still answering after the grace. */
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

  #add(socket: Socket): void {
    for (const set of [this.#open, this.#idle]) set.add(socket);
    this.#strangers.set(socket, performance.now());
    socket.once("close", () => this.#forget(socket));
    const tooMany = this.#strangers.size > this.#limits.strangers;
    // One place stays free: above its limit, Node closes a connection without an event.
    if (this.#open.size >= this.#limits.connections)
      this.#evict(tooMany ? this.#strangers.keys() : this.#idle.values());
    else if (tooMany && this.#oldestStrangerMs() >= this.#limits.strangerMs) this.#evict(this.#strangers.keys());
  }

  #oldestStrangerMs(): number {
    const [joined = 0] = this.#strangers.values();
    return performance.now() - joined;
  }

  /** The newest is spared: it has had no time to say anything. */
  #evict(from: Iterator<Socket>): void {
    const { value: oldest } = from.next();
    if (oldest === undefined || from.next().done === true) return;
    this.#forget(oldest);
    oldest.destroy();
  }

  #forget(socket: Socket): void {
    for (const set of [this.#open, this.#strangers, this.#idle]) set.delete(socket);
  }

  /** The answer is complete; a client that does not take it must not keep the socket, nor many of them the memory. */
  #expectReader(socket: Socket, response: ServerResponse): void {
    if (socket.writableLength === 0) return;
    const timer = setTimeout(() => socket.destroy(), this.#limits.stallMs);
    timer.unref();
    this.#unread.add(socket);
    response.once("close", () => {
      clearTimeout(timer);
      this.#unread.delete(socket);
    });
    let bytes = 0;
    for (const { writableLength } of this.#unread) bytes += writableLength;
    // The one that has waited longest goes first; the last one may be larger than the limit.
    for (const slow of this.#unread) {
      if (bytes <= this.#limits.unreadBytes || slow === socket) break;
      bytes -= slow.writableLength;
      this.#unread.delete(slow);
      slow.destroy();
    }
  }

  #becameIdle(socket: Socket): void {
    if (socket.destroyed) return;
    if (this.#closing) socket.destroySoon();
    else this.#idle.add(socket);
  }
}
