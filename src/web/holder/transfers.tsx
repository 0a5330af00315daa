// Transfers. In work.

import { PageHead, Shell, Skeleton } from "../parts";

export default function Page() {
  return (
    <Shell app="holder" page="transfers" title="Transfers">
      <PageHead title="Transfers" />
      <Skeleton />
    </Shell>
  );
}
