// How the people who run the service are reached.

import { OutLink, api } from "../parts";
import { useLoad } from "./data/load";

/** An e-mail address or an https:// URL; null if the operator named none. */
export function useContact(): string | null | undefined {
  return useLoad("contact", async () => (await api.get<{ contact?: string | null }>("/version")).contact ?? null).data;
}

/** A link to write to them. */
export function ContactLink({ contact }: { contact: string }) {
  return contact.startsWith("https://") ? <OutLink href={contact}>{contact.slice("https://".length)}</OutLink> : <a href={`mailto:${contact}`}>{contact}</a>;
}

/** “Contact help@pay.example to have it cancelled.” */
export function Contact({ children }: { children: string }) {
  const contact = useContact();
  return (
    <>
      Contact {contact ? <ContactLink contact={contact} /> : "the people who run this service"} {children}.
    </>
  );
}
