/* What the scripted stand-ins for vendors' accelerator libraries share: cards that burn as a script says.
 *
 * The file named by an environment variable says what cards there are and what they do; '#' begins a comment:
 *
 *   return FUNCTION CODE         what a function that belongs to no card answers
 *   card N address 0000:c1:00.0  card N name TEXT...
 *   card N watts T_MS W          from T_MS on it burns W watts; several lines, T growing
 *   card N base COUNT            the counter at time 0
 *   card N unit UJ               microjoules a count (default 1)
 *   card N rate FACTOR           the counter counts FACTOR times what it should
 *   card N frozen T_MS           the counter stands still from then on
 *   card N backward T_MS         the counter falls to half of what it was then, and goes on from there
 *   card N lost T_MS             from then on every call for it answers the library's "device lost"
 *   card N tiles W1 W2           its parts burn as much, for libraries that show parts
 *   card N busy PERCENT          card N memory TOTAL_MIB USED_MIB       card N cap W
 *   card N return FUNCTION CODE  what that function answers for this card
 *
 * Time runs from the first call of cards_load(); fake_cards_set_time_ms(t) stops it at t (below 0: it runs again), for tests
 * that must not wait. fake_cards_reload() reads the script anew. */
#ifndef FAKE_CARDS_H
#define FAKE_CARDS_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_CARDS = 16, MOST_POINTS = 64, MOST_RULES = 32 };

typedef struct {
  char function[64];
  long code;
} Rule;

typedef struct {
  int present, points, rules;
  char name[96], address[32];
  double at_ms[MOST_POINTS], watts[MOST_POINTS], unit_uj, rate, frozen_ms, backward_ms, lost_ms, cap_w, tile_w[2];
  unsigned long long base, memory_total, memory_used;
  unsigned busy;
  Rule rule[MOST_RULES];
} Card;

static Card cards[MOST_CARDS];
static Rule rules[MOST_RULES];
static int rule_count, cards_loaded;
static double origin_ms, fixed_ms = -1;

static double clock_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
static double now_ms(void) { return fixed_ms >= 0 ? fixed_ms : clock_ms() - origin_ms; }

static void add_rule(Rule* list, int* count, const char* text) {
  if (*count < MOST_RULES && sscanf(text, "%63s %li", list[*count].function, &list[*count].code) == 2) ++*count;
}

static void card_line(Card* card, const char* key, const char* rest) {
  double a = 0, b = 0;
  sscanf(rest, "%lf %lf", &a, &b);
  if (!strcmp(key, "name")) snprintf(card->name, sizeof card->name, "%s", rest);
  if (!strcmp(key, "address")) sscanf(rest, "%31s", card->address);
  if (!strcmp(key, "return")) add_rule(card->rule, &card->rules, rest);
  if (!strcmp(key, "base")) card->base = strtoull(rest, NULL, 10);
  if (!strcmp(key, "unit")) card->unit_uj = a;
  if (!strcmp(key, "rate")) card->rate = a;
  if (!strcmp(key, "frozen")) card->frozen_ms = a;
  if (!strcmp(key, "backward")) card->backward_ms = a;
  if (!strcmp(key, "lost")) card->lost_ms = a;
  if (!strcmp(key, "busy")) card->busy = (unsigned)a;
  if (!strcmp(key, "cap")) card->cap_w = a;
  if (!strcmp(key, "tiles")) card->tile_w[0] = a, card->tile_w[1] = b;
  if (!strcmp(key, "memory")) card->memory_total = (unsigned long long)a << 20, card->memory_used = (unsigned long long)b << 20;
  if (!strcmp(key, "watts") && card->points < MOST_POINTS) card->at_ms[card->points] = a, card->watts[card->points++] = b;
}

static void script_line(char* line) {
  int n = 0, used = 0;
  char key[32];
  line[strcspn(line, "#\n")] = '\0';
  if (!strncmp(line, "return ", 7)) add_rule(rules, &rule_count, line + 7);
  if (sscanf(line, "card %d %31s %n", &n, key, &used) < 2 || n < 0 || n >= MOST_CARDS) return;
  if (!cards[n].present) {
    memset(&cards[n], 0, sizeof cards[n]);
    cards[n].present = 1, cards[n].unit_uj = 1, cards[n].rate = 1;
    cards[n].frozen_ms = cards[n].backward_ms = cards[n].lost_ms = -1;
  }
  card_line(&cards[n], key, line + used);
}

static void cards_load(const char* variable) {
  if (cards_loaded) return;
  const char* path = getenv(variable);
  FILE* file = path ? fopen(path, "r") : NULL;
  char line[512];
  memset(cards, 0, sizeof cards);
  rule_count = 0;
  while (file && fgets(line, sizeof line, file)) script_line(line);
  if (file) fclose(file);
  origin_ms = clock_ms();
  cards_loaded = 1;
}
void fake_cards_set_time_ms(double t) { fixed_ms = t; }
void fake_cards_reload(void) { cards_loaded = 0, fixed_ms = -1; }

static int cards_count(void) {
  int count = 0;
  for (int i = 0; i < MOST_CARDS; ++i)
    if (cards[i].present) count = i + 1;
  return count;
}

static long ruled(const Rule* list, int count, const char* function, long otherwise) {
  for (int i = 0; i < count; ++i)
    if (!strcmp(list[i].function, function)) return list[i].code;
  return otherwise;
}

/* What a call for a card answers before it does anything. */
static long card_answer(const Card* card, const char* function, long lost) {
  if (card->lost_ms >= 0 && now_ms() >= card->lost_ms) return lost;
  return ruled(card->rule, card->rules, function, 0);
}

static double joules_at(const Card* card, double t) {
  double sum = 0;
  for (int i = 0; i < card->points; ++i) {
    const double begin = card->at_ms[i], end = i + 1 < card->points && card->at_ms[i + 1] < t ? card->at_ms[i + 1] : t;
    if (end > begin) sum += card->watts[i] * (end - begin) * 1e-3;
  }
  return sum;
}

static inline double watts_now(const Card* card) {
  double watts = 0;
  for (int i = 0; i < card->points && card->at_ms[i] <= now_ms(); ++i) watts = card->watts[i];
  return watts;
}

static unsigned long long counts_at(const Card* card, double t) {
  return card->base + (unsigned long long)(joules_at(card, t) * card->rate * 1e6 / card->unit_uj + 0.5);
}
static unsigned long long count_now(const Card* card) {
  const double now = now_ms();
  if (card->frozen_ms >= 0 && now > card->frozen_ms) return counts_at(card, card->frozen_ms);
  if (card->backward_ms >= 0 && now > card->backward_ms) return counts_at(card, now) - counts_at(card, card->backward_ms) / 2;
  return counts_at(card, now);
}
#endif
