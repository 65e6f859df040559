/**
 * The network of one sandbox, on the daemon's side. The sandbox has only its own loopback address; what connects there
 * arrives here, at listeners that the launcher handed over. A sandbox is known by its listener, so no credential exists.
 */
import { connect, type Server, type Socket } from "node:net";
import type { HostRule } from "../host-rules.ts";
import { createProxy } from "./proxy.ts";

export interface SandboxNetwork {
  /** The ports that the launcher opens; empty for a program without a network. */
  readonly ports: readonly number[];
  /** Variables that lead programs to the proxy. */
  readonly env: Readonly<Record<string, string>>;
  onListener(port: number, listener: Server): void;
  /** Ends every connection. An open listener would keep the namespace. */
  close(): void;
}

export type NetworkOptions = {
  /** Hosts that may be reached through the proxy; without one there is no proxy. */
  hosts: readonly HostRule[];
  /** Ports of the host's loopback address. */
  ports: readonly number[];
  /** What answers on ports of the sandbox instead of the host. */
  doors: ReadonlyMap<number, Door>;
  /** Says how a refused host can be allowed. */
  refusal: (host: string, port: number) => string;
};

/** Serves the connections to one port of a sandbox. */
export interface Door {
  serve(socket: Socket): void;
  close(): void;
}

const usualProxyPort = 3128;
/** More connections at the same time are closed. */
const mostConnections = 512;

export function createNetwork({ hosts, ports, doors, refusal }: NetworkOptions): SandboxNetwork {
  const all = new Map<number, Door>([...ports.map((port) => [port, passage(port)] as const), ...doors]);
  let proxyPort = usualProxyPort;
  while (all.has(proxyPort)) proxyPort += 1;
  if (hosts.length > 0) all.set(proxyPort, createProxy({ hosts, refusal }));
  const listeners = new Set<Server>();
  const sockets = new Set<Socket>();
  let isClosed = false;
  const close = () => {
    isClosed = true;
    for (const listener of listeners) listener.close();
    for (const socket of sockets) socket.destroy();
    for (const door of all.values()) door.close();
  };
  return {
    ports: [...all.keys()],
    env: hosts.length > 0 ? proxyVariables(proxyPort) : {},
    onListener(port, listener) {
      const door = all.get(port);
      if (isClosed || door === undefined) {
        listener.close();
        return;
      }
      listeners.add(listener);
      listener.on("error", () => listener.close());
      listener.on("connection", (socket) => {
        socket.on("error", () => socket.destroy());
        if (isClosed || sockets.size >= mostConnections) {
          socket.destroy();
          return;
        }
        sockets.add(socket);
        socket.once("close", () => sockets.delete(socket));
        door.serve(socket);
      });
    },
    close,
  };
}

/** Leads to the same port of the host. */
function passage(port: number): Door {
  return {
    serve(socket) {
      const out = connect({ port, host: "127.0.0.1" });
      out.on("error", () => socket.destroy());
      socket.on("close", () => out.destroy());
      socket.pipe(out).pipe(socket);
    },
    close() {},
  };
}

/** Programs talk to themselves over loopback, which is inside. */
function proxyVariables(port: number): Record<string, string> {
  const url = `http://127.0.0.1:${port}`;
  const names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
  const inside = "localhost,127.0.0.1,::1";
  return {
    ...Object.fromEntries(names.map((name) => [name, url])),
    NO_PROXY: inside,
    no_proxy: inside,
    NODE_USE_ENV_PROXY: "1",
  };
}
