import{a}from"/assets/chunk-Q7IEDL7D.js";import"/assets/chunk-A4TKBKRY.js";import"/assets/chunk-TAS4QGM7.js";export{a as ApprovalDialog};
