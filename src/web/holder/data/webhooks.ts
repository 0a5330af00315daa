// Endpoints that get the account's events, and what was delivered to them.

import { api, withQuery } from "../../parts";
import { EVENT_TYPES } from "../../api/events";
import type { GetWebhookResponse, RegisterWebhookResponse, Webhook, WebhookDelivery, WebhookDeliveryList } from "../../api/public";
import type { Slice } from "./load";

export async function readWebhooks(): Promise<Webhook[]> {
  const read = await api.get<GetWebhookResponse>("/get-webhook");
  return "webhooks" in read ? (read as { webhooks: Webhook[] }).webhooks : [];
}

export const registerWebhook = (url: string, types: string[] | null) =>
  api.post<RegisterWebhookResponse>("/register-webhook", { url, ...(types ? { types } : {}) }, { confirm: { title: "Add this endpoint?", text: "It gets the account’s events, never card numbers or codes." } });

export const deleteWebhook = (id: string) => api.post("/delete-webhook", { webhook_id: id });

export type DeliveryState = "all" | "pending" | "delivered" | "failed" | "dropped";

export async function deliveriesSlice(webhook: string, state: DeliveryState, after: string | undefined, limit: number): Promise<Slice<WebhookDelivery, string>> {
  const rows: WebhookDelivery[] = [];
  let from = after;
  // A page may be short although more follow.
  for (let reads = 0; reads < 5; reads += 1) {
    const page = await api.get<WebhookDeliveryList>(withQuery("/webhook-deliveries", { webhook_id: webhook, status: state === "all" ? undefined : state, limit: limit - rows.length, starting_after: from }));
    rows.push(...page.deliveries);
    from = page.next_starting_after ?? undefined;
    if (!page.has_more || from === undefined) return { rows, next: undefined };
    if (rows.length >= limit) break;
  }
  return { rows, next: from };
}

export const redeliver = (delivery: WebhookDelivery) => api.post("/redeliver-webhook", { delivery_id: delivery.delivery_id });
export const redeliverSince = (webhook: string, since: string) => api.post<{ redelivered?: number; count?: number }>("/redeliver-webhook", { webhook_id: webhook, since });

/** Resources whose events can be chosen: `card.*`. */
export const EVENT_GROUPS: string[] = [...new Set(EVENT_TYPES.map((type) => `${type.split(".")[0]}.*`))];
