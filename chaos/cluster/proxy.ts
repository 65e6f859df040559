/** The network between one node and the database: a proxy on loopback that can cut or hold up every connection. */
import { createConnection, createServer, type Socket } from "node:net";

/** `refused` ends connections and accepts no new one. `stalled` forwards nothing and says nothing, as a lost route. */
export type Network = "open" | "refused" | "stalled";

export type Wire = {
  readonly port: number;
  set(network: Network): void;
  close(): Promise<void>;
};

/** `target` is the Unix socket of the server. */
export async function startProxy(target: string): Promise<Wire> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let network: Network = "open";
  const server = createServer({ pauseOnConnect: true }, (client) => {
    if (network === "refused") {
      client.destroy();
      return;
    }
    const upstream = createConnection(target);
    const pair = [client, upstream] as const;
    const cut = () => {
      pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    pairs.add(pair);
    for (const socket of pair) {
      socket.setNoDelay(true);
      socket.on("error", cut);
      socket.on("close", cut);
    }
    client.on("data", (chunk) => upstream.write(chunk));
    upstream.on("data", (chunk) => client.write(chunk));
    if (network === "stalled") hold(pair);
    else client.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const cutAll = () => {
    for (const [client] of pairs) client.destroy();
  };
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    set(next) {
      network = next;
      if (next === "refused") cutAll();
      else for (const pair of pairs) (next === "stalled" ? hold : release)(pair);
    },
    async close() {
      cutAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function hold(pair: readonly [Socket, Socket]): void {
  for (const socket of pair) socket.pause();
}

function release(pair: readonly [Socket, Socket]): void {
  for (const socket of pair) socket.resume();
}
