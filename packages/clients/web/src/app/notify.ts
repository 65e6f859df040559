/** Notifications of the browser for asks and ends of turns. Off until the person switches them on. */

import type { Event } from "@aegis/contract/event.ts";
import { headline } from "@aegis/contract/headline.ts";
import { effect, signal } from "@preact/signals";
import { oneLine } from "../model/format.ts";
import { link } from "./router.ts";
import { board, keepHidden, onStream } from "./store.ts";

const name = "aegis.notify";

export const canNotify = "Notification" in window && Notification.permission !== "denied";
export const notifies = signal(
  canNotify && Notification.permission === "granted" && localStorage.getItem(name) === "on",
);

/** Asks for permission the first time. */
export async function toggleNotifications(): Promise<void> {
  const isOn = !notifies.peek() && (await Notification.requestPermission()) === "granted";
  notifies.value = isOn;
  localStorage.setItem(name, isOn ? "on" : "off");
}

effect(() => {
  keepHidden.value = notifies.value;
});

/** Only while the page is not looked at: a person who sees the card needs no second sign. */
onStream((items) => {
  if (!notifies.peek() || !document.hidden) return;
  for (const item of items) if (item.kind === "event") notify(item.event);
});

function notify(event: Event): void {
  if (event.session === null) return;
  const card = board.peek().cards[event.session];
  const name = card === undefined ? "a session" : headline(card);
  if (event.type === "ask.opened") show(`${name} asks`, event.data.ask.question, event.session);
  if (event.type === "turn.ended") show(`${name}: ${event.data.reason}`, event.data.text, event.session);
}

function show(title: string, text: string, session: string): void {
  // One per session: a newer one replaces an older one.
  const notification = new Notification(oneLine(title, 80), { body: oneLine(text, 160), tag: session });
  notification.onclick = () => {
    window.focus();
    location.hash = link("s", session);
  };
}
