/** Builds the channels that the settings describe. Their code is loaded only when one is configured. */
import { join } from "node:path";
import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { type ChannelPlan, Channels } from "@aegis/channels/channels.ts";
import { HookRoutes, type ServeHook } from "@aegis/channels/hook-routes.ts";
import type { PluginChannels } from "@aegis/channels/plugin-channels.ts";
import type { RunningChannel } from "@aegis/channels/running.ts";
import { readSecret, type SecretPlace } from "@aegis/channels/secret.ts";
import { SoleHolder } from "@aegis/cluster/sole-holder.ts";
import type { EventHub } from "@aegis/events/hub.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { Config } from "@aegis/project/config/config.ts";
import { type ChannelKey, channelKeys } from "@aegis/project/config/schema.ts";
import { pluginValues } from "@aegis/project/plugins/dirs.ts";
import type { Asks } from "@aegis/sessions/asks/asks.ts";
import type { Store } from "@aegis/store/store.ts";
import type { BuildOptions } from "./build-options.ts";
import type { SessionParts } from "./build-sessions.ts";
import type { WorkParts } from "./build-work.ts";

export type BuildChannelsOptions = Pick<
  BuildOptions,
  "root" | "stateDir" | "env" | "clock" | "log" | "settings" | "addSecret" | "processes" | "redact"
> &
  Pick<SessionParts, "inbox" | "sessions" | "attachments"> &
  Pick<WorkParts, "queues"> & {
    store: Store;
    asks: Asks;
    agents: AgentTable;
    hub: EventHub;
    pluginChannels: PluginChannels;
  };

export type ChannelParts = {
  channels: Channels;
  /** The other node that runs the channels; null if they run here, or nowhere. */
  node(): Promise<string | null>;
  /**
   * Accepts incoming webhooks, which must not wait until plugins are loaded. In a cluster one node runs the channels, and
   * claims them here; another one takes over when that node is lost.
   */
  listen(): Promise<void>;
  /** Starts the channels. */
  start(): Promise<void>;
  /** Serves the incoming webhooks. A request waits until the channels have started. */
  serveHooks: (mount: ServeHook) => void;
};

export function buildChannels(options: BuildChannelsOptions): ChannelParts {
  const { settings, store, clock, log } = options;
  // Two nodes would send each message twice.
  const holder = new SoleHolder(store, clock);
  const planned = (): ChannelPlan[] => {
    if (!holder.holds) return [];
    const { config } = settings();
    return [
      ...channelKeys.flatMap((key) => withPeople[key](options, config)),
      ...desktop(options, config),
      ...outgoingHooks(options, config),
      ...incomingHooks(options, config, { serve: routes.add, started: () => channels.started() }),
      ...fromPlugins(options, config),
    ];
  };
  const channels = new Channels({ planned, store, clock, log });
  options.pluginChannels.follow(() => void channels.settingsChanged());
  const names = () => trustedHooks(settings().config).map(([name]) => name);
  const routes = new HookRoutes({ clock, names, started: () => channels.started() });
  const listen = async () => {
    await holder.claim();
    await channels.listen();
  };
  const start = async () => {
    store.onCommit(() => {
      holder
        .claim()
        .then((isNew) => (isNew ? channels.settingsChanged() : undefined))
        .catch((error: unknown) => log.warn("channels could not be taken over", { error: errorText(error) }));
    }, ["node.lost"]);
    // The holder may have been lost since the first claim.
    await holder.claim();
    await channels.start();
  };
  return { channels, node: () => holder.node(), listen, start, serveHooks: (mount) => routes.open(mount) };
}

/** How each channel with people starts that has a key in the configuration. */
const withPeople: Readonly<Record<ChannelKey, (options: BuildChannelsOptions, config: Config) => ChannelPlan[]>> = {
  telegram,
};

function telegram(options: BuildChannelsOptions, { telegram: entry }: Config): ChannelPlan[] {
  if (entry === undefined || (entry.token_env === undefined && entry.token_file === undefined)) return [];
  const { users, chats, agent, notify, topics, stream, api_root: apiRoot } = entry;
  const place = { env: entry.token_env, file: entry.token_file };
  const start = async () => {
    const { startTelegram } = await import("@aegis/channels/telegram/start.ts");
    return withSecret(options, place, "token of the Telegram bot", (token) => {
      const settings = { token: token ?? "", apiRoot, users, chats, agent, notify, topics, stream };
      const { store, clock, log, sessions, inbox, asks, agents, attachments, root, hub } = options;
      const dir = join(options.stateDir, "channel-files");
      return startTelegram({ store, clock, log, sessions, inbox, asks, agents, attachments, root, dir, hub, settings });
    });
  };
  return [{ name: "telegram", kind: "people", fingerprint: JSON.stringify(entry), start }];
}

function desktop(options: BuildChannelsOptions, { notify }: Config): ChannelPlan[] {
  if (!notify.desktop) return [];
  const start = async () => {
    const { startDesktop } = await import("@aegis/channels/desktop/desktop.ts");
    const { store, clock, log, processes, env } = options;
    return startDesktop({ store, clock, log, processes, env });
  };
  return [{ name: "desktop", kind: "desktop", fingerprint: "on", start }];
}

/** A hook without an address or a secret is not trusted yet: `aegis trust` lists it. */
function outgoingHooks(options: BuildChannelsOptions, { webhooks }: Config): ChannelPlan[] {
  return Object.entries(webhooks.out).flatMap(([name, entry]) => {
    const { url, events, format, allow_private: allowPrivate } = entry;
    if (url === undefined) return [];
    const place = { env: entry.secret_env, file: entry.secret_file };
    const start = async () => {
      const { store, clock, log } = options;
      const { startWebhookOut } = await import("@aegis/channels/webhooks/out.ts");
      const needsSecret = format === "standard" || place.env !== undefined || place.file !== undefined;
      return withSecret(options, needsSecret ? place : null, `secret of the webhook ${name}`, (secret) =>
        startWebhookOut({ store, clock, log, hook: { name, url, secret, events, format, allowPrivate } }),
      );
    };
    return [{ name: `out:${name}`, kind: "webhook_out", fingerprint: JSON.stringify(entry), start }];
  });
}

/** A hook without a secret is not trusted yet: `aegis trust` lists it. */
function trustedHooks({ webhooks }: Config) {
  return Object.entries(webhooks.in).filter(
    ([, { secret_env, secret_file }]) => secret_env !== undefined || secret_file !== undefined,
  );
}

type HookServices = { serve: ServeHook; started: () => Promise<void> };

function incomingHooks(options: BuildChannelsOptions, config: Config, { serve, started }: HookServices): ChannelPlan[] {
  const { store, clock, log, inbox, sessions, queues } = options;
  return trustedHooks(config).map(([name, entry]) => {
    const { scheme, agent, session, queue, prompt = null } = entry;
    const place = { env: entry.secret_env, file: entry.secret_file };
    const target = queue !== undefined ? { queue } : session !== undefined ? { session } : { agent: agent ?? "" };
    const start = async () => {
      const { startWebhookIn } = await import("@aegis/channels/webhooks/in.ts");
      return withSecret(options, place, `secret of the webhook ${name}`, (secret) =>
        startWebhookIn({
          store,
          clock,
          log,
          inbox,
          sessions,
          queues,
          serve,
          started,
          hook: { name, secret: secret ?? "", scheme, target, prompt },
        }),
      );
    };
    return { name: `in:${name}`, kind: "webhook_in", fingerprint: JSON.stringify(entry), early: true, start };
  });
}

/** A plugin's channel is replaced with its plugin, because its code is another one then. */
function fromPlugins(options: BuildChannelsOptions, { plugins }: Config): ChannelPlan[] {
  return options.pluginChannels.all().map((remote) => {
    const { name, plugin, load } = remote;
    const own = pluginValues(pluginValues(plugins, plugin), "channels")[name];
    const start = async () => {
      const { startPluginChannel } = await import("@aegis/channels/plugin/start.ts");
      const dir = join(options.stateDir, "channel-files");
      const { store, clock, log, sessions, inbox, asks, agents, attachments, root, redact } = options;
      return startPluginChannel({
        store,
        clock,
        log,
        sessions,
        inbox,
        asks,
        agents,
        attachments,
        root,
        dir,
        redact,
        remote,
        settings: own,
      });
    };
    return { name, kind: "people", fingerprint: JSON.stringify([plugin, load, own]), start };
  });
}

/** Reads the secret and keeps it out of the log and the store. */
async function withSecret(
  { root, env, addSecret }: BuildChannelsOptions,
  place: SecretPlace | null,
  what: string,
  start: (secret: string | null) => RunningChannel,
): Promise<RunningChannel> {
  if (place === null) return start(null);
  const secret = await readSecret(place, { root, env, what });
  // It stays redacted after the channel has stopped: texts that contain it may be written later.
  addSecret(secret);
  return start(secret);
}
