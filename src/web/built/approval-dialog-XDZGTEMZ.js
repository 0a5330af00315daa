import{a}from"/assets/chunk-PO4JHQ77.js";import"/assets/chunk-3MAMWPGV.js";import"/assets/chunk-5E7KIZYM.js";export{a as ApprovalDialog};
