// SPDX-License-Identifier: Apache-2.0
#include "simile/data/document_pairs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "simile/core/file.h"
#include "simile/data/detail/article.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/data/pair_data.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "Sentence 3 of a." for 3 and a.
std::string sentence(int number, const std::string& name) {
  return "Sentence " + std::to_string(number) + " of " + name + ".";
}

// One paragraph with the sentences first..last.
std::string paragraph(int first, int last, const std::string& name) {
  std::string text;
  for (int i = first; i <= last; ++i) text += (i == first ? "" : " ") + sentence(i, name);
  return text + "\n";
}

int number_of(const std::string& text) { return std::stoi(text.substr(text.find(' '))); }

DocumentPairOptions options_of(const std::vector<std::string>& kinds) {
  DocumentPairOptions options;
  options.pairs = kinds;
  options.minimum_words = 4;
  options.hard_negatives = true;
  options.negative_distance = 3;
  return options;
}

TEST(DocumentPairs, NeighboursStandInOneParagraph) {
  const TestFiles files;
  const std::string path = files.write(
      "d.txt", paragraph(0, 2, "a") + paragraph(3, 4, "a") + "\n" + paragraph(0, 1, "b"));
  DocumentPairOptions options = options_of({"neighbouring_sentences"});
  options.hard_negatives = false;
  const PairDataset data = read_document_pairs({path}, options, 0);
  EXPECT_THAT(data.left,
              ElementsAre(sentence(0, "a"), sentence(1, "a"), sentence(3, "a"), sentence(0, "b")));
  EXPECT_THAT(data.right,
              ElementsAre(sentence(1, "a"), sentence(2, "a"), sentence(4, "a"), sentence(1, "b")));
  EXPECT_THAT(data.score, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(data.negatives, IsEmpty());
  EXPECT_EQ(data.report.rows, 3);
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("2 articles, 3 paragraphs, 7 sentences; 4 of 4")));
}

TEST(DocumentPairs, NegativesAreOfTheSameArticleAndFarEnough) {
  const TestFiles files;
  std::string text;
  for (const char* name : {"a", "b", "c"}) text += paragraph(0, 9, name) + "\n\n";
  const std::string path = files.write_gzip("d.txt.gz", text);
  const PairDataset data = read_document_pairs({path}, options_of({"neighbouring_sentences"}), 0);
  ASSERT_EQ(data.size(), 27);
  ASSERT_EQ(data.negatives.size(), 1);
  std::set<int> drawn;
  for (size_t i = 0; i < data.left.size(); ++i) {
    const std::string& negative = data.negatives[0][i];
    EXPECT_EQ(negative.substr(negative.find(" of ")),
              data.left[i].substr(data.left[i].find(" of ")));
    const int left = number_of(data.left[i]), chosen = number_of(negative);
    EXPECT_TRUE(chosen <= left - 3 || chosen >= left + 1 + 3) << data.left[i] << " | " << negative;
    drawn.insert(chosen);
  }
  EXPECT_GT(drawn.size(), 5);
}

TEST(DocumentPairs, AnArticleTooShortForANegativeIsLeftOutAndCounted) {
  const TestFiles files;
  const std::string path =
      files.write("d.txt", paragraph(0, 1, "a") + "\n" + paragraph(0, 5, "b") + "\n");
  const PairDataset data = read_document_pairs({path}, options_of({"neighbouring_sentences"}), 0);
  EXPECT_THAT(data.left,
              ElementsAre(sentence(0, "b"), sentence(1, "b"), sentence(3, "b"), sentence(4, "b")));
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("4 of 4 pairs kept (2 left out")));
}

TEST(DocumentPairs, LeadsOfParagraphsMeetTheRest) {
  const TestFiles files;
  std::string text;
  for (int p = 0; p < 5; ++p) text += paragraph(10 * p, 10 * p + 2, "a");
  const PairDataset data =
      read_document_pairs({files.write("d.txt", text)}, options_of({"paragraph_lead"}), 0);
  ASSERT_EQ(data.size(), 4);  // the middle one has no paragraph three away
  EXPECT_EQ(data.left[1], sentence(10, "a"));
  EXPECT_EQ(data.right[1], sentence(11, "a") + " " + sentence(12, "a"));
  for (size_t i = 0; i < data.left.size(); ++i) {
    const int left = number_of(data.left[i]) / 10, chosen = number_of(data.negatives[0][i]) / 10;
    EXPECT_GE(std::abs(left - chosen), 3);
    EXPECT_EQ(number_of(data.negatives[0][i]) % 10, 1) << "a rest, not a whole paragraph";
  }
}

TEST(DocumentPairs, LeadsOfArticlesMeetLaterParagraphsAndTheirNegativesComeAfter) {
  const TestFiles files;
  std::string text;
  for (int p = 0; p < 7; ++p) text += paragraph(10 * p, 10 * p + 1, "a");
  const PairDataset data =
      read_document_pairs({files.write("d.txt", text)}, options_of({"article_lead"}), 0);
  ASSERT_EQ(data.size(), 3);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(data.left[i], sentence(0, "a"));
    EXPECT_EQ(number_of(data.right[i]), static_cast<int>(10 * (i + 1)));
    EXPECT_GE(number_of(data.negatives[0][i]), static_cast<int>(10 * (i + 4)));
  }
}

TEST(DocumentPairs, SentencesMeetTheRestAroundThem) {
  const TestFiles files;
  const std::string path = files.write(
      "d.txt", "One two three four. Five six seven eight nine. Ten eleven twelve thirteen.\n" +
                   paragraph(0, 0, "alone"));
  DocumentPairOptions options = options_of({"sentence_rest"});
  options.hard_negatives = false;
  PairDataset data = read_document_pairs({path}, options, 0);
  EXPECT_THAT(data.left, ElementsAre("One two three four.", "Five six seven eight nine.",
                                     "Ten eleven twelve thirteen."));
  EXPECT_THAT(data.right, ElementsAre("Five six seven eight nine. Ten eleven twelve thirteen.",
                                      "One two three four. Ten eleven twelve thirteen.",
                                      "One two three four. Five six seven eight nine."));
  options.maximum_words = 5;  // two before and three after; what one side lacks the other has
  data = read_document_pairs({path}, options, 0);
  EXPECT_THAT(data.right, ElementsAre("Five six seven eight nine.", "three four. Ten eleven twelve",
                                      "Five six seven eight nine."));
  options.maximum_words = 60;
  options.minimum_words = 9;
  EXPECT_THAT(error_of([&] { read_document_pairs({path}, options, 0); }), HasSubstr("no pair"));
}

TEST(DocumentPairs, RestsHaveParagraphsOfTheirArticleAsNegatives) {
  const TestFiles files;
  std::string text;
  for (int p = 0; p < 4; ++p) text += paragraph(10 * p, 10 * p + 1, "a");
  DocumentPairOptions options = options_of({"sentence_rest"});
  options.hard_negatives = true;
  const PairDataset data = read_document_pairs({files.write("d.txt", text)}, options, 0);
  ASSERT_EQ(data.size(), 4);  // of the first and the last paragraph
  EXPECT_THAT(data.left, ElementsAre(sentence(0, "a"), sentence(1, "a"), sentence(30, "a"),
                                     sentence(31, "a")));
  EXPECT_THAT(data.right, ElementsAre(sentence(1, "a"), sentence(0, "a"), sentence(31, "a"),
                                      sentence(30, "a")));
  const std::string first = sentence(0, "a") + " " + sentence(1, "a");
  const std::string last = sentence(30, "a") + " " + sentence(31, "a");
  EXPECT_THAT(data.negatives, ElementsAre(ElementsAre(last, last, first, first)));
}

TEST(DocumentPairs, TitlesMeetTheParagraphsOfTheirArticles) {
  const TestFiles files;
  const std::string path = files.write_zstd(
      "d.txt.zst", "  Alpha \n" + paragraph(0, 1, "a") + paragraph(2, 2, "a") +
                       paragraph(3, 3, "a") + "\nLone\n\n\nBeta gamma\nToo short.\n" +
                       paragraph(0, 0, "b"));
  DocumentPairOptions options = options_of({"title_lead"});
  options.hard_negatives = false;
  options.titles = true;
  const PairDataset leads = read_document_pairs({path}, options, 0);
  EXPECT_THAT(leads.left, ElementsAre("Alpha"));  // the first paragraph of the other is too short
  EXPECT_THAT(leads.right, ElementsAre(sentence(0, "a") + " " + sentence(1, "a")));
  EXPECT_EQ(leads.report.rows, 5);
  EXPECT_THAT(leads.notes, ElementsAre(HasSubstr("2 articles, 5 paragraphs, 6 sentences, 1 titles "
                                                 "without a paragraph; 1 of 1 pairs kept")));
  options.pairs = {"title_paragraph"};
  const PairDataset others = read_document_pairs({path}, options, 0);
  EXPECT_THAT(others.left, ElementsAre("Alpha", "Alpha", "Beta gamma"));
  EXPECT_THAT(others.right, ElementsAre(sentence(2, "a"), sentence(3, "a"), sentence(0, "b")));
  options.pairs = {"article_lead"};
  EXPECT_THAT(read_document_pairs({path}, options, 0).left,
              ElementsAre(sentence(0, "a"), sentence(0, "a")));
  options.titles = false;  // the title is then the first paragraph, too short to lead
  EXPECT_THAT(error_of([&] { read_document_pairs({path}, options, 0); }),
              HasSubstr("3 articles, 8 paragraphs"));
}

TEST(DocumentPairs, AnObjectOfAJsonlIsAnArticle) {
  const TestFiles files;
  DocumentPairOptions options = options_of({"article_lead"});
  options.hard_negatives = false;
  const std::string path = files.write_gzip(
      "d.jsonl.gz", R"({"id":7,"title":"Alpha","text":"Sentence 0 of a.\n\nSentence 1 of a.\r\n"})"
                    "\n\n"
                    R"({"text":" Beta\nSentence 0 of b.\nSentence 1 of b.","title":null})"
                    "\n"
                    R"({"title":1984,"text":"Sentence 0 of c."})"
                    "\n"
                    R"({"title":"Lone","text":""})");
  const PairDataset leads = read_document_pairs({path}, options, 0);
  EXPECT_THAT(leads.left, ElementsAre(sentence(0, "a")));  // "Beta" leads, and is too short
  EXPECT_THAT(leads.right, ElementsAre(sentence(1, "a")));
  EXPECT_EQ(leads.report.rows, 6);
  options.titles = true;
  options.pairs = {"title_lead"};
  const PairDataset titles = read_document_pairs({path}, options, 0);
  EXPECT_THAT(titles.left, ElementsAre("Alpha", "Beta", "1984"));
  EXPECT_THAT(titles.right, ElementsAre(sentence(0, "a"), sentence(0, "b"), sentence(0, "c")));
  EXPECT_EQ(titles.report.rows, 5);
  EXPECT_THAT(titles.notes, ElementsAre(HasSubstr("3 articles, 5 paragraphs, 5 sentences, 1 titles "
                                                  "without a paragraph; 3 of 3 pairs kept")));
}

TEST(DocumentPairs, JsonWithoutATextOrAnotherNameIsRefused) {
  const TestFiles files;
  const auto error = [&](const std::string& name, const std::string& bytes) {
    const std::string path = files.write(name, bytes);
    return error_of(ErrorKind::kInput,
                    [&] { read_document_pairs({path}, options_of({"article_lead"}), 0); });
  };
  EXPECT_THAT(error("a.jsonl", "{\"text\":\"a\"}\n{\"body\":\"Sentence 0 of a.\"}\n"),
              HasSubstr("a.jsonl:2: expected an object with 'text'"));
  EXPECT_THAT(error("a.jsonl", "Sentence 0 of a.\n"), HasSubstr("a.jsonl:1"));
  EXPECT_THAT(error("a.txt", "{\"text\":\"Sentence 0 of a.\"}\n"),
              HasSubstr("a.txt:1: it is JSON, but a file of texts has one text a line"));
}

TEST(DocumentPairs, WordsAreTakenFromEitherEnd) {
  EXPECT_EQ(first_words(" one  two\tthree ", 2), "one  two");
  EXPECT_EQ(first_words(" one  two\tthree ", 9), "one  two\tthree");
  EXPECT_EQ(last_words(" one  two\tthree ", 2), "two\tthree");
  EXPECT_EQ(last_words("one two", 9), "one two");
  for (const char* text : {"", " ", "one"}) {
    EXPECT_EQ(first_words(text, 0), "");
    EXPECT_EQ(last_words(text, 0), "");
  }
  EXPECT_EQ(first_words(" ", 1), "");
  EXPECT_EQ(last_words(" ", 1), "");
  EXPECT_EQ(last_words("one", 1), "one");
}

TEST(DocumentPairs, LengthsAreKept) {
  const TestFiles files;
  const std::string path = files.write(
      "d.txt", "Too short. Here are four words. One two three four five six seven eight nine.\n" +
                   paragraph(0, 3, "a"));
  DocumentPairOptions options = options_of({"neighbouring_sentences"});
  options.hard_negatives = false;
  options.maximum_words = 8;
  EXPECT_THAT(read_document_pairs({path}, options, 0).left,
              ElementsAre(sentence(0, "a"), sentence(1, "a"), sentence(2, "a")));
  options.pairs = {"paragraph_lead"};
  const PairDataset rests = read_document_pairs({path}, options, 0);
  EXPECT_THAT(rests.left, ElementsAre(sentence(0, "a")));
  EXPECT_THAT(rests.right, ElementsAre(sentence(1, "a") + " " + sentence(2, "a")));  // 8 words
}

TEST(DocumentPairs, EqualTextsAreNeitherPairsNorNegatives) {
  const TestFiles files;
  std::string text = "The same old song. The same old song. ";
  for (int i = 0; i < 6; ++i) text += sentence(i, "a") + " ";
  text += "The same old song.\n";
  const PairDataset data =
      read_document_pairs({files.write("d.txt", text)}, options_of({"neighbouring_sentences"}), 0);
  for (size_t i = 0; i < data.left.size(); ++i) {
    EXPECT_NE(data.left[i], data.right[i]);
    EXPECT_NE(data.left[i], data.negatives[0][i]);
    EXPECT_NE(data.right[i], data.negatives[0][i]);
  }
}

TEST(DocumentPairs, ALimitKeepsASampleInOrderWithTheSameNegatives) {
  const TestFiles files;
  std::string text;
  for (int article = 0; article < 40; ++article) {
    text += paragraph(0, 19, "a" + std::to_string(article)) + "\n";
  }
  const std::string path = files.write("d.txt", text);
  DocumentPairOptions options = options_of({"neighbouring_sentences"});
  const PairDataset all = read_document_pairs({path}, options, 0);
  const PairDataset some = read_document_pairs({path}, options, 100);
  ASSERT_EQ(all.size(), 40 * 19);
  ASSERT_EQ(some.size(), 100);
  size_t place = 0;
  for (size_t i = 0; i < some.left.size(); ++i) {
    while (place < all.left.size() && all.left[place] != some.left[i]) ++place;
    ASSERT_LT(place, all.left.size()) << "not in the order of the file";
    EXPECT_EQ(all.right[place], some.right[i]);
    EXPECT_EQ(all.negatives[0][place], some.negatives[0][i]);
  }
  EXPECT_EQ(read_document_pairs({path}, options, 100).left, some.left);
  options.seed = 2;
  EXPECT_NE(read_document_pairs({path}, options, 100).left, some.left);
}

TEST(DocumentPairs, AReservoirIsUniform) {
  std::map<int, int> kept;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Reservoir<int> sample(5, RandomStream(seed, "test"));
    for (int i = 0; i < 20; ++i) sample.offer([&] { return i; });
    std::vector<int> items;
    sample.take([&](int item) { items.push_back(item); });
    ASSERT_EQ(items.size(), 5);
    EXPECT_TRUE(std::is_sorted(items.begin(), items.end()));
    for (const int item : items) ++kept[item];
  }
  for (int i = 0; i < 20; ++i) EXPECT_NEAR(kept[i], 500, 5 * 20) << i;  // five standard deviations
}

TEST(DocumentPairs, OptionsThatCannotWorkAreRefused) {
  const TestFiles files;
  const std::string path = files.write("d.txt", paragraph(0, 1, "a"));
  const auto error = [&](const DocumentPairOptions& options) {
    return error_of([&] { read_document_pairs({path}, options, 0); });
  };
  EXPECT_THAT(error(options_of({})), HasSubstr("documents.pairs: expected some of"));
  EXPECT_THAT(error(options_of({"neighbors"})), HasSubstr("found 'neighbors'"));
  EXPECT_THAT(error(options_of({"article_lead", "article_lead"})), HasSubstr("is given twice"));
  DocumentPairOptions options = options_of({"article_lead"});
  options.maximum_words = 2;
  EXPECT_THAT(error(options), HasSubstr("minimum_words 4 is more than maximum_words 2"));
  options = options_of({"sentence_rest", "title_paragraph"});
  EXPECT_THAT(error(options), HasSubstr("'title_paragraph' needs articles with titles; set"));
  options.titles = options.hard_negatives = true;
  EXPECT_THAT(error(options), HasSubstr("hard_negatives: 'title_paragraph' has none"));
}

TEST(DocumentPairs, AFileWithoutPairsIsAnErrorThatTellsWhatWasRead) {
  const TestFiles files;
  const auto options = options_of({"neighbouring_sentences"});
  EXPECT_THAT(error_of([&] {
                read_document_pairs({files.write("d.txt", paragraph(0, 1, "a"))}, options, 0);
              }),
              AllOf(HasSubstr("d.txt: 1 articles, 1 paragraphs, 2 sentences: no pair"),
                    HasSubstr("1 left out"), HasSubstr("blank line between articles")));
  EXPECT_THAT(error_of([&] { read_document_pairs({files.write("e.txt", "\n\n")}, options, 0); }),
              HasSubstr("0 articles"));
  EXPECT_THAT(error_of([&] { read_document_pairs({files.path("none.txt")}, options, 0); }),
              HasSubstr("cannot read"));
}

TEST(DocumentPairsSlow, WikipediaYieldsPairsOfEveryKind) {
  const std::string path = SIMILE_SOURCE_DIR "/../shared/data/wiki_docs_2015/train.txt.gz";
  if (!file_exists(path)) GTEST_SKIP() << "skipped: no ../shared";
  PairDataOptions options;
  options.path = path;
  options.format = "documents";
  options.documents.pairs = {"neighbouring_sentences", "paragraph_lead", "sentence_rest",
                             "article_lead"};
  options.limit = 3000;
  const PairDataset data = read_pairs(options);
  EXPECT_EQ(data.size(), 3000);
  EXPECT_EQ(data.report.rows, 165723);
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("6360 articles")));
}

}  // namespace
}  // namespace simile
