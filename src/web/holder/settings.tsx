// Settings. In work.

import { PageHead, Shell, Skeleton } from "../parts";

export default function Page() {
  return (
    <Shell app="holder" page="settings" title="Settings">
      <PageHead title="Settings" />
      <Skeleton />
    </Shell>
  );
}
