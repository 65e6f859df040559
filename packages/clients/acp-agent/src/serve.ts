/** Serves ACP over a pair of streams. */
import { Readable, Writable } from "node:stream";
import { type AgentConnection, agent as createAgent, methods, ndJsonStream } from "@agentclientprotocol/sdk/unstable";
import { AcpAgent, type AcpAgentOptions } from "./agent.ts";
import { asRequestError } from "./attachment.ts";

export type ServeOptions = AcpAgentOptions & {
  stdin: NodeJS.ReadableStream;
  stdout: NodeJS.WritableStream;
  /** Ends the connection. */
  signal: AbortSignal;
};

/** Resolves when the editor closes the connection. */
export async function serveAcp(options: ServeOptions): Promise<void> {
  const { stdin, stdout, signal } = options;
  const aegis = new AcpAgent(options);
  const output = Writable.toWeb(stdout as Writable) as WritableStream<Uint8Array>;
  const input = Readable.toWeb(stdin as Readable) as ReadableStream<Uint8Array>;
  const connection = connect(aegis, ndJsonStream(output, input));
  const end = () => connection.close();
  signal.addEventListener("abort", end, { once: true });
  try {
    await connection.closed.catch(() => {});
  } finally {
    signal.removeEventListener("abort", end);
    aegis.close();
  }
}

function connect(aegis: AcpAgent, stream: ReturnType<typeof ndJsonStream>): AgentConnection {
  const { session, initialize } = methods.agent;
  return createAgent({ name: "aegis" })
    .onRequest(initialize, ({ params, client }) => aegis.initialize(params, client))
    .onRequest(session.new, ({ params }) => told(aegis.newSession(params)))
    .onRequest(session.load, ({ params }) => told(aegis.openSession(params.sessionId, params.cwd, { replay: true })))
    .onRequest(session.resume, ({ params }) => told(aegis.openSession(params.sessionId, params.cwd, { replay: false })))
    .onRequest(session.fork, ({ params }) => told(aegis.forkSession(params)))
    .onRequest(session.list, ({ params }) => told(aegis.listSessions(params)))
    .onRequest(session.close, async ({ params }) => {
      await told(aegis.closeSession(params.sessionId));
      return {};
    })
    .onRequest(session.setMode, async ({ params }) => {
      await told(aegis.setMode(params.sessionId, params.modeId));
      return {};
    })
    .onRequest(session.setConfigOption, ({ params }) => told(aegis.setOption(params)))
    .onRequest(session.prompt, ({ params, signal }) => told(aegis.prompt(params, signal)))
    .onNotification(session.cancel, ({ params }) => aegis.cancel(params).catch(() => {}))
    .connect(stream);
}

/** The errors of the daemon in the words of ACP. */
async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw asRequestError(error);
  }
}
