// A user's program in C: puts an item and gets it back from the server named by its argument.
#include <plov.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  plov_client* client = NULL;
  plov_error error;
  if (plov_connect(argv[1], NULL, &client, &error) != PLOV_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  const plov_view key = plov_text("user:1");
  plov_item item;
  int status = 1;
  if (plov_put(client, key, plov_text("Ada"), NULL, NULL) == PLOV_OK &&
      plov_get(client, key, &item) == PLOV_OK && item.value.bytes == 3 &&
      memcmp(item.value.data, "Ada", 3) == 0 &&
      plov_get(client, plov_text("user:2"), &item) == PLOV_NOT_FOUND &&
      plov_last_error(client)->code == PLOV_NOT_FOUND) {
    status = 0;
  }
  plov_close(client);
  return status;
}
