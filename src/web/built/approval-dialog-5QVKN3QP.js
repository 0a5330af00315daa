import{a}from"/assets/chunk-N3ZB42IN.js";import"/assets/chunk-7MH5UU3H.js";import"/assets/chunk-XA4E3EUK.js";export{a as ApprovalDialog};
