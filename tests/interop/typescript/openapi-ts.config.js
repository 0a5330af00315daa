// Modules that Node loads as they are.
export default {
  input: 'openapi.json',
  output: { path: 'client', module: { extension: '.js' } },
  plugins: ['@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'],
}
