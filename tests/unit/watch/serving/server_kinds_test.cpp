// Pages of model servers: names as their documentation and sources have them, values our own.
#include "watch/serving/server_kinds.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "watch/serving/count_follower.h"

namespace joulery {
namespace {

ServerPage page_of(std::string_view text, const ServerKind* kind = nullptr) {
  auto page = read_server_page(parse_prometheus_text(text), kind);
  if (!page) {
    ADD_FAILURE() << page.error();
    return {};
  }
  return *page;
}

struct PageCase {
  const char* kind;
  const char* text;
  const char* model;
  std::optional<double> in, out, requests, running;
};

class Pages : public testing::TestWithParam<PageCase> {};

TEST_P(Pages, AreRead) {
  const PageCase& c = GetParam();
  const ServerPage page = page_of(c.text);
  ASSERT_TRUE(page.kind);
  EXPECT_EQ(page.kind->name, c.kind);
  ASSERT_TRUE(page.models.contains(c.model));
  const ModelCounts& counts = page.models.at(c.model);
  EXPECT_EQ(counts.tokens_in, c.in);
  EXPECT_EQ(counts.tokens_out, c.out);
  EXPECT_EQ(counts.requests, c.requests);
  EXPECT_EQ(counts.running, c.running);
  // What is missing has its reason, and what is there has none.
  EXPECT_EQ(page.no_tokens_in.empty(), c.in.has_value());
  EXPECT_EQ(page.no_tokens_out.empty(), c.out.has_value());
  EXPECT_EQ(page.no_requests.empty(), c.requests.has_value());
}

constexpr std::nullopt_t none = std::nullopt;
const PageCase page_cases[] = {
    {"vllm",
     "vllm:prompt_tokens_total{engine=\"0\",model_name=\"m\"} 100\nvllm:prompt_tokens_total{engine=\"1\",model_name=\"m\"} 11\n"
     "vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 40\nvllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3\n"
     "vllm:request_success_total{engine=\"0\",finished_reason=\"stop\",model_name=\"m\"} 5\n"
     "vllm:request_success_total{engine=\"0\",finished_reason=\"length\",model_name=\"m\"} 2\n",
     "m", 111, 40, 7, 3},
    {"sglang",
     "sglang:prompt_tokens_total{model_name=\"s\",tp_rank=\"0\"} 8.0e+02\nsglang:prompt_tokens_total{model_name=\"s\",tp_rank=\"1\"} "
     "8.0e+02\n"
     "sglang:generation_tokens_total{model_name=\"s\"} 70\nsglang:num_requests_total{model_name=\"s\"} "
     "9\nsglang:num_running_reqs{model_name=\"s\"} 2\n",
     "s", 800, 70, 9, 2},
    {"sglang", "sglang_prompt_tokens_total{model_name=\"s\"} 8\nsglang_generation_tokens_total{model_name=\"s\"} 7\n", "s", 8, 7, none,
     none},
    {"tgi",
     "tgi_request_input_length_bucket{le=\"1\"} 4\ntgi_request_input_length_sum 300\ntgi_request_input_length_count 4\n"
     "tgi_request_generated_tokens_sum 90\ntgi_request_generated_tokens_count 4\ntgi_request_success{method=\"generate\"} "
     "4\ntgi_batch_current_size 1\n",
     "", 300, 90, 4, 1},
    {"triton",
     "nv_inference_request_success{model=\"my_model\",version=\"1\"} "
     "161\nnv_inference_pending_request_count{model=\"my_model\",version=\"1\"} 0\n",
     "my_model", none, none, 161, 0},
    {"triton",
     "nv_inference_request_success{model=\"llm\",version=\"1\"} 3\nnv_llm_input_token_len_sum{model=\"llm\",version=\"1\"} 30\n"
     "nv_llm_output_token_len_sum{model=\"llm\",version=\"1\"} 60\n",
     "llm", 30, 60, 3, none},
    {"tensorflow-serving",
     ":tensorflow:serving:request_count{model_name=\"half_plus_two\",status=\"OK\"} 12\n"
     ":tensorflow:serving:request_count{model_name=\"half_plus_two\",status=\"NOT_FOUND\"} 5\n",
     "half_plus_two", none, none, 12, none},
    {"llama.cpp", "llamacpp:prompt_tokens_total 50\nllamacpp:tokens_predicted_total 20\nllamacpp:requests_processing 1\n", "", 50, 20, none,
     1},
    {"docker-model-runner",
     "llama_prompt_tokens_total{backend=\"llama.cpp\",model=\"llama3.2:latest\",mode=\"completion\"} 4934\n"
     "llama_generation_tokens_total{backend=\"llama.cpp\",model=\"llama3.2:latest\",mode=\"completion\"} 2156\n"
     "llama_requests_total{backend=\"llama.cpp\",model=\"llama3.2:latest\",mode=\"completion\"} 127\n",
     "llama3.2:latest", 4934, 2156, 127, none},
};
INSTANTIATE_TEST_SUITE_P(ServerKinds, Pages, testing::ValuesIn(page_cases));

TEST(ServerKinds, SavedPagesAreRead) {
  const std::filesystem::path folder = std::filesystem::path(JOULERY_SOURCE_DIR) / "../shared/data/profiles/metrics";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: no ../shared";
  const auto text = [&](const char* name) {
    std::ostringstream all;
    all << std::ifstream(folder / name).rdbuf();
    return all.str();
  };
  const ServerPage vllm = page_of(text("SYNTHETIC_vllm.prom"));
  EXPECT_EQ(vllm.models.at("m").tokens_in, 81289.0);
  EXPECT_EQ(vllm.models.at("m").tokens_out, 75575.0);
  EXPECT_EQ(vllm.models.at("m").requests, 322.0);
  const ServerPage sglang = page_of(text("sglang_doc_example.prom"));
  EXPECT_EQ(sglang.models.at("meta-llama/Llama-3.1-8B-Instruct").tokens_in, 8128902.0);
  const ServerPage triton = page_of(text("triton_doc_example.prom"));
  EXPECT_EQ(triton.models.at("my_model").requests, 161.0);
  EXPECT_FALSE(triton.models.at("my_model").tokens_out);
}

TEST(ServerKinds, OtherPagesAreRefused) {
  EXPECT_EQ(read_server_page(parse_prometheus_text(""), nullptr).error(), "its page has no metrics");
  EXPECT_FALSE(read_server_page(parse_prometheus_text("node_load1 0.5\n"), nullptr));
  EXPECT_EQ(read_server_page(parse_prometheus_text("tgi_queue_size 0\n"), find_server_kind("vllm")).error(),
            "its page has no metrics of vLLM");
}

std::string vllm(double in, double out, double requests) {
  std::ostringstream page;
  page << "vllm:prompt_tokens_total{model_name=\"m\"} " << in << "\nvllm:generation_tokens_total{model_name=\"m\"} " << out
       << "\nvllm:request_success_total{model_name=\"m\"} " << requests << "\n";
  return page.str();
}

TEST(CountFollower, ARestartIsAGapAndCountsGoOnAfterIt) {
  CountFollower follower;
  EXPECT_FALSE(follower.take({1}, page_of(vllm(100, 10, 1))));
  const auto first = follower.take({2}, page_of(vllm(150, 30, 2)));
  ASSERT_TRUE(first && first->gap.empty());
  EXPECT_EQ(first->when, (Interval{{1}, {2}}));
  EXPECT_EQ(first->models.at("m").tokens_in, 50.0);
  EXPECT_EQ(first->models.at("m").tokens_out, 20.0);
  EXPECT_EQ(first->models.at("m").requests, 1.0);
  const auto restart = follower.take({3}, page_of(vllm(7, 3, 0)));
  ASSERT_TRUE(restart);
  EXPECT_NE(restart->gap, "");
  EXPECT_TRUE(restart->models.empty());
  const auto after = follower.take({4}, page_of(vllm(9, 5, 1)));
  ASSERT_TRUE(after && after->gap.empty());
  EXPECT_EQ(after->models.at("m").tokens_in, 2.0);
}

TEST(CountFollower, AModelThatAppearsHasCountedFromZero) {
  CountFollower follower;
  (void)follower.take({1}, page_of("vllm:num_requests_running 0\n"));
  const auto window = follower.take({2}, page_of(vllm(100, 10, 1)));
  ASSERT_TRUE(window && window->gap.empty());
  EXPECT_EQ(window->models.at("m").tokens_in, 100.0);
}

}  // namespace
}  // namespace joulery
