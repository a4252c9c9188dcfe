// Stores one item, gets it back, removes it; in C.
//
//   gcc -std=c11 hello.c -o hello $(pkg-config --cflags --libs plov)
//   plovd & ./hello                   the server shm:default
//   ./hello shm:/tmp/other.sock       another one
#include <plov.h>
#include <stdio.h>
#include <stdlib.h>

static int complain(const plov_error* error) {
  fprintf(stderr, "hello: %s (%s)\n", error->message, plov_code_name(error->code));
  return EXIT_FAILURE;
}

// The steps; the caller frees the client whatever happens here.
static int greet(plov_client* client) {
  const plov_view key = plov_text("user:1");
  uint64_t version = 0;
  if (plov_put(client, key, plov_text("Ada"), NULL, &version) != PLOV_OK) {
    return complain(plov_last_error(client));
  }
  printf("stored user:1\n");

  plov_item item;
  if (plov_get(client, key, &item) != PLOV_OK) return complain(plov_last_error(client));
  printf("user:1 is %.*s\n", (int)item.value.bytes, (const char*)item.value.data);

  // Only the version that was stored above: what someone else wrote meanwhile would stay.
  if (plov_delete(client, key, version) != PLOV_OK) return complain(plov_last_error(client));
  printf("removed user:1\n");

  switch (plov_get(client, key, &item)) {
    case PLOV_OK:
      printf("user:1 is back\n");
      return EXIT_SUCCESS;
    case PLOV_NOT_FOUND:
      printf("user:1 is absent\n");
      return EXIT_SUCCESS;
    default:
      return complain(plov_last_error(client));
  }
}

int main(int argc, char** argv) {
  plov_client* client = NULL;
  plov_error error;
  if (plov_connect(argc > 1 ? argv[1] : "shm:default", NULL, &client, &error) != PLOV_OK) {
    return complain(&error);
  }
  const int status = greet(client);
  plov_close(client);
  return status;
}
