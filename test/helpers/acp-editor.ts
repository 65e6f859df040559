/** An editor that speaks ACP: the SDK's own client in front of the built `aegis acp`. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import {
  type ClientCapabilities,
  type ClientContext,
  type ContentBlock,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  client,
  methods,
  ndJsonStream,
  type PromptResponse,
  type RequestPermissionRequest,
  type SessionUpdate,
} from "@agentclientprotocol/sdk/unstable";
import { onTestFinished } from "vitest";
import { type AegisProject, cliPath } from "./aegis.ts";
import { waitUntil } from "./wait-until.ts";

type Kind = SessionUpdate["sessionUpdate"];
export type Card = { request: RequestPermissionRequest; withdrawn: boolean };

export type Editor = {
  child: ChildProcessWithoutNullStreams;
  agent: ClientContext;
  /** Everything that arrived, in order. */
  updates: { sessionId: string; update: SessionUpdate }[];
  cards: Card[];
  /** The texts of all chunks of this kind, joined. */
  text(kind: Kind): string;
  /** Resolves when an update of this kind fits. */
  sees<K extends Kind>(kind: K, fits?: (update: Of<K>) => boolean): Promise<Of<K>>;
  newSession(): Promise<string>;
  prompt(session: string, text: string | ContentBlock[]): Promise<PromptResponse>;
  stderr(): string;
};

type Of<K extends Kind> = Extract<SessionUpdate, { sessionUpdate: K }>;

export type EditorOptions = {
  name?: string;
  args?: readonly string[];
  capabilities?: ClientCapabilities;
  /** The answer to each permission card; a card without an answer stays open until it is withdrawn. */
  decide?: (request: RequestPermissionRequest) => string | undefined;
  elicit?: (request: CreateElicitationRequest) => CreateElicitationResponse;
};

/** Starts the command in the project and initializes the connection. */
export async function acpEditor(project: AegisProject, options: EditorOptions = {}): Promise<Editor> {
  const { name = "test-editor", args = [], capabilities = {}, decide, elicit } = options;
  const child = spawn(process.execPath, [cliPath, "acp", ...args], { cwd: project.root, env: project.env });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.on("error", () => {});
  onTestFinished(() => void child.kill("SIGKILL"));
  const updates: Editor["updates"] = [];
  const cards: Card[] = [];
  const connection = client({ name })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params);
    })
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      const card: Card = { request: params, withdrawn: false };
      cards.push(card);
      const choice = decide?.(params);
      if (choice !== undefined) return { outcome: { outcome: "selected", optionId: choice } };
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      card.withdrawn = true;
      return { outcome: { outcome: "cancelled" } };
    })
    .onRequest(methods.client.elicitation.create, ({ params }) => {
      if (elicit === undefined) throw new Error("no elicitation was expected");
      return elicit(params);
    })
    .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>));
  const { agent } = connection;
  await agent.request(methods.agent.initialize, {
    protocolVersion: 1,
    clientCapabilities: capabilities,
    clientInfo: { name, version: "1" },
  });
  const sees = async <K extends Kind>(kind: K, fits: (update: Of<K>) => boolean = () => true): Promise<Of<K>> => {
    const find = () =>
      updates
        .map(({ update }) => update)
        .find((update): update is Of<K> => update.sessionUpdate === kind && fits(update as Of<K>));
    await waitUntil(`an update ${kind}`, () => find() !== undefined);
    return find() as Of<K>;
  };
  return {
    child,
    agent,
    updates,
    cards,
    sees,
    stderr: () => stderr,
    text: (kind) =>
      updates
        .flatMap(({ update }) => (update.sessionUpdate === kind && "content" in update ? textOf(update.content) : []))
        .join(""),
    async newSession() {
      return (await agent.request(methods.agent.session.new, { cwd: project.root, mcpServers: [] })).sessionId;
    },
    prompt: (sessionId, text) =>
      agent.request(methods.agent.session.prompt, {
        sessionId,
        prompt: typeof text === "string" ? [{ type: "text", text }] : text,
      }),
  };
}

function textOf(content: unknown): string[] {
  return typeof content === "object" && content !== null && "text" in content ? [String(content.text)] : [];
}
