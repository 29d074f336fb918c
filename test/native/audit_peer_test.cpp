// Which peers are answered on the socket of leak-audit: the decision, its inputs, and the rate limit for strangers.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "native/audit/attach.h"
#include "native/audit/descriptor.h"
#include "native/audit/peer.h"

namespace ltn::audit {
namespace {

constexpr char kIdentity[] = "         0          0 4294967295\n";
constexpr char kMapped[] = "         0     100000      65536\n";
constexpr char kRootOnly[] = "         0          0          1\n";

PeerFacts facts_of(uid_t uid) {
  PeerFacts facts;
  facts.uid = facts.own_uid = uid;
  facts.uid_map = kIdentity;
  facts.is_visible = facts.is_known = true;
  facts.own = facts.peer = {"pid:[1]", "mnt:[2]", "user:[3]"};
  return facts;
}

TEST(AuditPeer, IsThisUserInTheSameNamespaces) {
  for (const uid_t uid : {0u, 1000u, 65534u}) EXPECT_EQ(classify_peer(facts_of(uid)), PeerStatus::Ours) << uid;
  PeerFacts facts = facts_of(1000);
  facts.uid = 0;
  EXPECT_EQ(classify_peer(facts), PeerStatus::OtherUser) << "not even root";
  facts.any_namespace = true;
  EXPECT_EQ(classify_peer(facts), PeerStatus::OtherUser);
}

TEST(AuditPeer, IsNotTheOverflowUser) {
  for (const char* map : {"", kMapped, kRootOnly, "1 1 4294967294", "0 0 x", "garbage"}) {
    PeerFacts facts = facts_of(65534);
    facts.uid_map = map;
    EXPECT_EQ(classify_peer(facts), PeerStatus::Unmapped) << map;
    facts.any_namespace = true;
    EXPECT_EQ(classify_peer(facts), PeerStatus::Unmapped) << map;
    facts.overflow_uid = 65000;  // another number on this machine
    EXPECT_EQ(classify_peer(facts), PeerStatus::Ours) << map;
  }
  PeerFacts mapped = facts_of(0);
  mapped.uid_map = kMapped;
  EXPECT_EQ(classify_peer(mapped), PeerStatus::Ours);
}

TEST(AuditPeer, IsNotInAnotherNamespaceUnlessAllowed) {
  for (std::string Namespaces::*kind : {&Namespaces::pid, &Namespaces::mount, &Namespaces::user}) {
    PeerFacts facts = facts_of(1000);
    facts.peer.*kind = "pid:[99]";
    EXPECT_EQ(classify_peer(facts), PeerStatus::OtherNamespace);
    facts.peer.*kind = "";
    EXPECT_EQ(classify_peer(facts), PeerStatus::OtherNamespace);
    facts.any_namespace = true;
    EXPECT_EQ(classify_peer(facts), PeerStatus::Ours);
  }
  PeerFacts invisible = facts_of(1000);
  invisible.is_visible = invisible.is_known = false;
  EXPECT_EQ(classify_peer(invisible), PeerStatus::OtherNamespace);
  PeerFacts unread = facts_of(1000);
  unread.is_known = false;
  EXPECT_EQ(classify_peer(unread), PeerStatus::Unknown);
}

TEST(AuditPeer, SaysWhyInEachCase) {
  EXPECT_STREQ(refusal_text(PeerStatus::Ours), "");
  EXPECT_STREQ(refusal_text(PeerStatus::OtherUser), "the process belongs to another user");
  EXPECT_NE(std::string(refusal_text(PeerStatus::Unmapped)).find("cannot tell who asks"), std::string::npos);
  EXPECT_NE(std::string(refusal_text(PeerStatus::Unknown)).find("/proc"), std::string::npos);
  EXPECT_NE(std::string(refusal_text(PeerStatus::OtherNamespace)).find("LIBTORCH_NODE_ATTACH=all-namespaces"),
            std::string::npos);
}

TEST(AuditPeer, OfARealSocketIsThisProcess) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor a(ends[0]), b(ends[1]);
  std::ifstream map("/proc/self/uid_map");
  std::string text;
  std::getline(map, text);
  if (::geteuid() == 65534 && !is_identity(text)) GTEST_SKIP() << "this user has the number of all that are not mapped";
  pid_t pid = 0;
  EXPECT_EQ(peer_status(a.get(), false, &pid), PeerStatus::Ours);
  EXPECT_EQ(pid, ::getpid());
}

TEST(AuditPeer, IsUnknownIfTheSocketIsNotConnected) {
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  pid_t pid = 7;
  EXPECT_NE(peer_status(socket.get(), true, &pid), PeerStatus::Ours);
  EXPECT_EQ(pid, 0);
}

TEST(AuditAcceptLimiter, RefusesSomePeersWithTheReasonAndThenPauses) {
  AcceptLimiter limiter;
  int64_t now = 1'000'000;
  int refusals = 0;
  while (limiter.allow_refusal(now) && refusals < 1000) ++refusals;
  EXPECT_EQ(refusals, 32);
  EXPECT_FALSE(limiter.allow_refusal(now + 49));
  EXPECT_TRUE(limiter.allow_refusal(now + 50)) << "one more in each 50 ms";
  EXPECT_FALSE(limiter.allow_refusal(now + 50));
  EXPECT_FALSE(limiter.allow_refusal(now - 10'000)) << "a clock that goes back gives nothing";
  now += 3'600'000;
  for (refusals = 0; limiter.allow_refusal(now) && refusals < 1000;) ++refusals;
  EXPECT_EQ(refusals, 32) << "no more than that are saved up";

  EXPECT_TRUE(limiter.may_accept(now));
  limiter.pause_until(now + 50);
  EXPECT_FALSE(limiter.may_accept(now + 49));
  EXPECT_TRUE(limiter.may_accept(now + 50));
}

TEST(AuditAttachRule, IsOffForGoodWhereTheProcessOrMainSaysSo) {
  for (const char* own : {"", "0", "1", "all-namespaces"}) {
    EXPECT_EQ(attach_rule("0", own, true), AttachRule::Off) << own;
    EXPECT_EQ(attach_rule("0", own, false), AttachRule::Off) << own;
  }
  EXPECT_EQ(attach_rule("", "0", true), AttachRule::Off);
  EXPECT_EQ(attach_rule("all-namespaces", "0", true), AttachRule::Off);
}

TEST(AuditAttachRule, AWorkersOwnEnvironmentOnlySwitchesItselfOff) {
  EXPECT_EQ(attach_rule("", "0", false), AttachRule::NotThisEnvironment);
  EXPECT_EQ(attach_rule("all-namespaces", "0", false), AttachRule::NotThisEnvironment);
  EXPECT_EQ(attach_rule("", "all-namespaces", false), AttachRule::Listen);
  EXPECT_EQ(attach_rule("", "all-namespaces", true), AttachRule::AllNamespaces);
  EXPECT_EQ(attach_rule("all-namespaces", "", false), AttachRule::AllNamespaces);
  for (const char* other : {"", "1", "no", "00"}) EXPECT_EQ(attach_rule(other, other, true), AttachRule::Listen);
}

}  // namespace
}  // namespace ltn::audit
