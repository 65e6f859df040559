/**
 * The features of Aegis, and for each the case of `npm test` that drives it in the built program. `features.test.ts` fails
 * when such a case is gone or has the tag "slow". The last part of a case's name is enough.
 */
const behaviour = "test/behaviour";
const cli = "packages/clients/cli/test";
const tui = "packages/clients/tui/test";
const web = "packages/clients/web/test";

export type Feature = { feature: string; file: string; name: string };

/** Feature → file, then the name of the case. */
const table: Record<string, readonly [file: string, name: string]> = {
  "the first command in a folder": [
    `${cli}/first-command`,
    "starts a daemon after init where every coding CLI is installed",
  ],
  "aegis init": [
    `${cli}/init`,
    "keeps the agents of open sessions when it replaces a file, with the daemon up or down",
  ],
  "aegis config": [`${cli}/config`, "sets a project up and changes it"],
  "aegis up, down, serve": [
    `${cli}/daemon`,
    "brings a daemon up once, however many ask at the same time, and takes it down",
  ],
  "aegis doctor": [`${cli}/daemon-files`, "lets the doctor find and repair what is wrong"],
  "aegis run": [`${cli}/run`, "answers on stdout, tells the rest on stderr, and leaves no session behind"],
  "aegis chat": [`${cli}/chat`, "goes on with a session, switches, and leaves nothing behind that was never used"],
  "npm start": [
    `${cli}/chat`,
    "attaches without a terminal: says which agent and why, prints events, stops what it started",
  ],
  sessions: [`${cli}/sessions`, "starts, names, titles, lists and closes sessions"],
  "messages and receipts": [`${cli}/sessions`, "sends messages with a receipt, the answer, or once only"],
  "interrupts and queued messages": [`${cli}/sessions`, "queues behind a turn, takes messages back and interrupts"],
  steering: [`${behaviour}/conversations`, "a message joins the turn in progress, and both end with it"],
  forks: [
    `${behaviour}/conversations`,
    "begins with what the other remembers, also after a restart, and goes its own way",
  ],
  images: [
    `${behaviour}/conversations`,
    "reaches the model with its message, is kept as a file, and is still seen after a kill",
  ],
  "recovery after kill -9": [
    `${behaviour}/crash`,
    "a turn in progress is lost, and its message is answered by the next one",
  ],
  "order after kill -9": [
    `${behaviour}/crash`,
    "messages queued behind a turn make up one turn of their own, after it and in order",
  ],
  "one daemon per project": [`${behaviour}/life`, "a second one refuses, names the first and leaves it alone"],
  asks: [`${cli}/asks`, "shows what an agent asks, refuses other answers, and lets it go on"],
  "history, tokens and costs": [
    `${cli}/recorded`,
    "shows tokens, cost and context of sessions and turns, and a dash for what is not recorded",
  ],
  "budgets of trees": [
    `${behaviour}/costs`,
    "a tree of native agents is held to its budget by the prices of the project",
  ],
  "aegis why": [`${behaviour}/why`, "lead over the turns of agents to the person, in the API and on the page"],
  "aegis audit": [`${behaviour}/audit`, "shows rights, gates, secrets by name, and who agreed to what since when"],
  "event streams": [
    `${behaviour}/events`,
    "carry text as it is written only for those who watch, and the whole text for all",
  ],
  transcripts: [
    `${behaviour}/events`,
    "hold what the event log holds, over a crash, and no secret of the environment or the configuration",
  ],
  "the plane": [`${behaviour}/plane`, "lists the tools and uses them as the session it belongs to"],
  handovers: [`${behaviour}/plane-traffic`, "hooks learn of each handover and each task once"],
  "tool scope": [
    `${behaviour}/scope`,
    "exactly that is listed and can be called, and a changed file counts with the next turn",
  ],
  rights: [`${behaviour}/rights`, "a person's session, task and run have all that their agent has"],
  subagents: [`${behaviour}/subagents`, "three levels report upwards, each result once"],
  "the pool": [`${behaviour}/subagents`, "pooled agents keep their session from one task to the next"],
  queues: [`${cli}/queue`, "enqueues once for a key, waits for the result, and exits as the task ended"],
  "budgets of queues": [
    `${behaviour}/queue-limits`,
    "a queue over its budget holds its tasks and says why, and goes on when there is room",
  ],
  groups: [`${cli}/group`, "gathers, asks, waits, shows and dissolves"],
  workflows: [`${behaviour}/plugins-workflow`, "every part of the engine works as if the body was beside it"],
  schedules: [`${cli}/schedule`, "adds, lists, shows, runs and removes"],
  "overlay files": [
    `${behaviour}/schedules`,
    "are applied while the daemon runs: the first, a changed one, one that is gone",
  ],
  "checks and receipts": [
    `${behaviour}/receipts`,
    "sends a failure back to the worker, and completes a task on the tree that passed",
  ],
  "recorded changes": [
    `${behaviour}/changes`,
    "shows what each turn changed, in text and JSON, and touches neither index nor HEAD",
  ],
  claims: [`${behaviour}/claims`, "refuses a write whose base was changed, and names who changed it and what"],
  sandbox: [`${behaviour}/sandbox`, "starts nothing that must be confined and cannot be"],
  worktrees: [
    `${behaviour}/worktrees`,
    "works in a worktree with copied and linked files, a branch and ports, and leaves the project alone",
  ],
  landing: [
    `${behaviour}/land`,
    "lands checked work, keeps out what fails its check, and leaves a dirty checkout alone",
  ],
  "the merge queue": [
    `${behaviour}/merge-queue`,
    "lists, pauses and resumes the merge queue, and cancels what waits, also after a kill",
  ],
  rescue: [
    `${behaviour}/rescue`,
    "keeps unlanded work of a closed session, rescues it before a removal and restores it with its index",
  ],
  hooks: [`${behaviour}/hooks`, "begins with what hooks put ahead of it, who know what was said before"],
  "hooks of native agents": [
    `${behaviour}/hooks-native`,
    "changes what the model is sent, before each call, and denies its tools",
  ],
  gates: [`${behaviour}/gates`, "blocks turns while a strict hook is missing"],
  "the file guard": [`${behaviour}/own-files`, "asks a person, who decides for this one call"],
  consent: [`${cli}/trust`, "starts without a question, runs only what is harmless, and says what it left out"],
  "consent to a changed program": [
    `${behaviour}/consent`,
    "does not start a program that changed, nor one whose options name a file that did",
  ],
  redaction: [`${behaviour}/secrets`, "never shows a secret or a piece of it, and is the beginning of what is stored"],
  agents: [`${cli}/agent`, "shows where an agent comes from, what it hides and why it has each tool"],
  "agents of plugins": [
    `${behaviour}/plugin-agents`,
    "are taken from manifests, each with its origin, and one bad entry costs that entry only",
  ],
  plugins: [`${behaviour}/plugins`, "loads modules of every kind without a build"],
  "tools that are programs": [`${behaviour}/plugins`, "runs programs as tools"],
  "plugin installs": [
    `${cli}/plugin-install`,
    "installs after --yes only, shows what would run, updates and uninstalls",
  ],
  skills: [`${behaviour}/skills`, "reach the agent with the messages that are about them, and are there to load"],
  "skill installs": [`${cli}/skill-install`, "from the registry: found, installed, written down, listed for agents"],
  "slash commands": [`${cli}/command`, "run in a chat: pages are said to the agent, answers of plugins are shown"],
  "MCP servers of agents": [
    `${behaviour}/mcp-servers`,
    "gives an agent the servers it names, once the user has agreed to what they start",
  ],
  "aegis mcp": [
    `${behaviour}/mcp-server`,
    "starts the daemon, and starts, follows and continues work under the client's own name",
  ],
  "aegis acp": [
    `${behaviour}/acp-agent`,
    "starts the daemon, streams an answer and offers agents, models and commands",
  ],
  Telegram: [`${behaviour}/telegram`, "keeps the token out of the log and of everything that is stored"],
  "outgoing webhooks": [
    `${behaviour}/webhooks`,
    "sends each event once, signed, with no secret in the log or the store",
  ],
  "incoming webhooks": [`${behaviour}/webhooks`, "starts a session for a signed request, once for each id"],
  "channels of plugins": [
    `${behaviour}/plugin-channel`,
    "is shown by status with its kind, and names its sessions after the first message",
  ],
  "the terminal app": [`${tui}/session`, "starts a session with the first message and shows the answer"],
  "asks in the terminal app": [
    `${tui}/screens`,
    "shows the action, answers with one key, and drops an ask that is answered elsewhere",
  ],
  "the web app": [`${web}/app`, "starts a session from the first message"],
  "asks in the web app": [`${web}/app`, "answers an ask on the card, and the card leaves the other browser too"],
  "access of browsers": [`${web}/access`, "exchanges a code once for a cookie that scripts cannot read"],
};

export const features: readonly Feature[] = Object.entries(table).map(([feature, [file, name]]) => {
  return { feature, file: `${file}.test.ts`, name };
});
