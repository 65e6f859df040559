/** Aegis as an ACP agent: answers the requests of one editor. */

import { isId } from "@aegis/contract/ids.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import {
  type AgentContext,
  type CancelNotification,
  type ForkSessionRequest,
  type ForkSessionResponse,
  type InitializeRequest,
  type InitializeResponse,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type NewSessionRequest,
  type NewSessionResponse,
  PROTOCOL_VERSION,
  type PromptRequest,
  type PromptResponse,
  RequestError,
  type SetSessionConfigOptionRequest,
  type SetSessionConfigOptionResponse,
} from "@agentclientprotocol/sdk/unstable";
import { type Attachment, asRequestError } from "./attachment.ts";
import { agentModel, agentOption, type Choices, modelOption } from "./choices.ts";
import { Editor } from "./editor.ts";
import { AcpProject, type ProjectLink } from "./project.ts";
import { PromptProblem, readPrompt } from "./prompt-blocks.ts";
import { textBlock } from "./updates.ts";

export type AcpAgentOptions = {
  version: string;
  /** The agent of new sessions; default: the project's default agent. */
  agent: string | undefined;
  /** The folder in which the command was started. */
  cwd: string;
  /** Connects to the daemon of a folder. Without `start`, null if the folder is not a project. */
  open(folder: string, how: { start: boolean }): Promise<ProjectLink | null>;
  warn(line: string): void;
};

const slashCommand = /^\/([\w:.-]+)(?:\s+([\s\S]*))?$/;

export class AcpAgent {
  readonly #options: AcpAgentOptions;
  readonly #closing = new AbortController();
  readonly #projects = new Map<string, AcpProject>();
  #editor: Editor | null = null;
  #warnedOfServers = false;

  constructor(options: AcpAgentOptions) {
    this.#options = options;
  }

  initialize({ clientCapabilities, clientInfo }: InitializeRequest, context: AgentContext): InitializeResponse {
    this.#editor = new Editor(context, clientCapabilities ?? {}, clientInfo?.name);
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "aegis", title: "Aegis", version: this.#options.version },
      authMethods: [],
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true, audio: false },
        mcpCapabilities: { http: false, sse: false },
        sessionCapabilities: { list: {}, resume: {}, close: {}, fork: {} },
      },
    };
  }

  async newSession({ cwd, mcpServers }: NewSessionRequest): Promise<NewSessionResponse> {
    if (mcpServers.length > 0 && !this.#warnedOfServers) {
      this.#warnedOfServers = true;
      const names = mcpServers.map(({ name }) => name).join(", ");
      this.#options.warn(`the MCP servers of the editor are not used: ${names} (see \`mcp\` in docs/config.md)`);
    }
    const project = await this.#project(cwd);
    await project.ready();
    const { agent } = this.#options;
    const { session } = await project.client.call("createSession", { body: agent === undefined ? {} : { agent } });
    const attachment = await project.attach(session, { replay: false, created: true });
    return { sessionId: session.id, ...(await this.#shown(project, attachment, session)) };
  }

  /** With `replay`, the whole history is sent before the response. */
  async openSession(id: string, cwd: string, how: { replay: boolean }): Promise<Choices> {
    const project = await this.#project(cwd);
    if (!isId("ses", id)) throw RequestError.resourceNotFound(id);
    const session = await project.session(id);
    const attachment = await project.attach(session, { ...how, created: false });
    return this.#shown(project, attachment, session);
  }

  async forkSession({ sessionId, cwd }: ForkSessionRequest): Promise<ForkSessionResponse> {
    const project = await this.#project(cwd);
    if (!isId("ses", sessionId)) throw RequestError.resourceNotFound(sessionId);
    const { session } = await project.client.call("forkSession", { path: { session: sessionId }, body: {} });
    const attachment = await project.attach(session, { replay: false, created: false });
    return { sessionId: session.id, ...(await this.#shown(project, attachment, session)) };
  }

  /** The sessions that people started in this project and that have been used. */
  async listSessions({ cwd }: ListSessionsRequest): Promise<ListSessionsResponse> {
    const link = await this.#options.open(cwd ?? this.#options.cwd, { start: false });
    if (link === null) return { sessions: [] };
    const { root } = link;
    const { sessions } = await link.client.call("listSessions");
    const listed = sessions.filter(({ parent, last_turn_at, pending }) => {
      return parent === null && (last_turn_at !== null || pending > 0);
    });
    const byUse = listed.toSorted((a, b) => usedAt(b) - usedAt(a));
    return {
      sessions: byUse.map((session) => ({
        sessionId: session.id,
        cwd: root,
        title: session.title === "" ? session.handle : session.title,
        updatedAt: new Date(usedAt(session)).toISOString(),
      })),
    };
  }

  /** The editor no longer shows the session. The session itself continues, unless it was never used. */
  async closeSession(id: string): Promise<void> {
    const { project, attachment } = this.#find(id);
    project.detach(attachment.id);
    await closeUnused(project, attachment);
  }

  async setMode(id: string, agent: string): Promise<void> {
    const { project, attachment } = this.#find(id);
    await this.#assign(project, attachment, { agent });
  }

  async setOption(request: SetSessionConfigOptionRequest): Promise<SetSessionConfigOptionResponse> {
    const { project, attachment } = this.#find(request.sessionId);
    const { configId, value } = request;
    if (typeof value !== "string") throw invalid(`the option "${configId}" expects one of its values`);
    if (configId === agentOption) await this.#assign(project, attachment, { agent: value });
    else if (configId === modelOption) {
      await this.#assign(project, attachment, { model: value === agentModel ? null : value });
    } else throw invalid(`there is no option "${configId}"; expected ${agentOption} or ${modelOption}`);
    const { configOptions } = await project.choices(await project.session(attachment.id));
    return { configOptions };
  }

  async prompt({ sessionId, prompt }: PromptRequest, signal: AbortSignal): Promise<PromptResponse> {
    const { project, attachment } = this.#find(sessionId);
    const message = readBlocks(prompt);
    const [, name, rest = ""] = slashCommand.exec(message.text) ?? [];
    if (name === undefined || !(await isCommand(project, name))) return attachment.prompt(message, signal);
    const body = { arguments: rest, session: attachment.id };
    const { text, prompt: expanded } = await project.client.call("runCommand", {
      path: { command: name },
      body,
      signal,
    });
    if (text !== null) await attachment.update({ sessionUpdate: "agent_message_chunk", content: textBlock(text) });
    return expanded === null ? { stopReason: "end_turn" } : attachment.prompt({ ...message, text: expanded }, signal);
  }

  async cancel({ sessionId }: CancelNotification): Promise<void> {
    await this.#find(sessionId).attachment.cancel();
  }

  /**
   * The connection ended: stops following. Sessions continue, also those that were never used: a client may create a
   * session in one process and use it in the next.
   */
  close(): void {
    this.#closing.abort();
  }

  async #project(cwd: string): Promise<AcpProject> {
    const link = await this.#options.open(cwd, { start: true });
    if (link === null) throw invalid(`there is no project in ${cwd}`);
    const known = this.#projects.get(link.root);
    if (known !== undefined) return known;
    if (this.#editor === null) throw invalid("send `initialize` first");
    const { warn } = this.#options;
    const project = new AcpProject({ link, editor: this.#editor, signal: this.#closing.signal, warn });
    this.#projects.set(link.root, project);
    return project;
  }

  #find(id: string): { project: AcpProject; attachment: Attachment } {
    for (const project of this.#projects.values()) {
      const attachment = project.attached.find((one) => one.id === id);
      if (attachment !== undefined) return { project, attachment };
    }
    throw RequestError.resourceNotFound(id);
  }

  /** Editors drop updates for a session whose response they have not read yet. */
  async #shown(project: AcpProject, attachment: Attachment, session: SessionView): Promise<Choices> {
    const choices = await project.choices(session);
    setImmediate(() => {
      project.introduce(attachment).catch((error: unknown) => this.#options.warn(String(error)));
    });
    return choices;
  }

  async #assign(
    project: AcpProject,
    attachment: Attachment,
    body: { agent: string } | { model: string | null },
  ): Promise<void> {
    try {
      await project.client.call("updateSession", { path: { session: attachment.id }, body });
    } catch (error) {
      // The editor already shows the new value.
      setImmediate(() => void project.sendChoices(attachment).catch(() => {}));
      throw asRequestError(error);
    }
  }
}

function readBlocks(blocks: PromptRequest["prompt"]) {
  try {
    return readPrompt(blocks);
  } catch (error) {
    throw error instanceof PromptProblem ? invalid(error.message) : error;
  }
}

async function isCommand(project: AcpProject, name: string): Promise<boolean> {
  const { commands } = await project.client.call("listCommands");
  return commands.some((command) => command.name === name && command.status === "ready");
}

/** Editors create a session for each new tab. */
async function closeUnused(project: AcpProject, { id, created }: Attachment): Promise<void> {
  if (!created) return;
  const { session } = await project.client.call("getSession", { path: { session: id } });
  if (session.last_turn_at !== null || session.pending > 0 || session.closed_at !== null) return;
  await project.client.call("closeSession", { path: { session: id } });
}

const usedAt = ({ last_turn_at, created_at }: Pick<SessionView, "last_turn_at" | "created_at">) =>
  last_turn_at ?? created_at;

function invalid(reason: string): RequestError {
  return new RequestError(-32602, reason, { reason });
}
