import BothyServer
import BothyStore
import BothySyncService
import Foundation
import Testing

@Suite("The table of limits", .timeLimit(.minutes(5)))
struct LimitTableTests {
  @Test("Names of limits are unique, and each default is in its range")
  func table() {
    let bounds = ServerBounds()
    #expect(Set(ServerLimit.all.map(\.name)).count == ServerLimit.all.count)
    for limit in ServerLimit.all {
      #expect(limit.about.hasSuffix("."), "\(limit.name)")
      #expect(limit.name.wholeMatch(of: /[a-z]+(-[a-z]+)*/) != nil, "\(limit.name)")
      guard let range = limit.range, let value = limit.value(in: bounds) else { continue }
      #expect(range.contains(value), "\(limit.name)")
    }
  }

  @Test("The ends of each range can be set, and nothing beyond them")
  func ranges() throws {
    for limit in ServerLimit.all {
      guard let range = limit.range else { continue }
      for end in [range.lowerBound, range.upperBound] {
        var bounds = ServerBounds()
        let text = limit.unit.text(end)
        #expect(limit.unit.value(of: text) == end, "\(limit.name) \(text)")
        try limit.set(text, in: &bounds)
        #expect(limit.value(in: bounds) == end, "\(limit.name) \(text)")
      }
      var bounds = ServerBounds()
      for text in ["", "-1", "often", "1e999", limit.unit.text(range.upperBound * 2)] {
        #expect(throws: ServerLimit.Misuse.self, "\(limit.name) \(text)") {
          try limit.set(text, in: &bounds)
        }
      }
    }
  }

  @Test("Values have their usual units, and an error names the possible ones")
  func values() throws {
    var bounds = ServerBounds()
    try ServerLimit.queryTime.set("1m30s", in: &bounds)
    try ServerLimit.bodySize.set("16m", in: &bounds)
    try ServerLimit.answerMegabytes.set("4", in: &bounds)
    try ServerLimit.principalRate.set("0.5", in: &bounds)
    try ServerLimit.blobQuota.set("2T", in: &bounds)
    try ServerLimit.pulls.set("100", in: &bounds)
    try ServerLimit.keepOutcomes.set("30d", in: &bounds)
    #expect(bounds.retention.outcomeAge == 30 * RetentionPolicy.day)
    #expect(bounds.rules.queryTime == .seconds(90) && bounds.rules.pullLimit == 100)
    #expect(bounds.rules.answerSize == 4 << 20 && bounds.server.bodySize == 16 << 20)
    #expect(bounds.server.requestsPerSecond == 0.5 && bounds.blobs.quota == 2 << 40)
    #expect(ServerLimit.queryTime.text(in: bounds) == "90s" && ServerLimit.blobQuota.text(in: bounds) == "2T")
    #expect(ServerLimit.spaceRate.text(in: bounds) == "none")
    let mistake = #expect(throws: ServerLimit.Misuse.self) {
      try ServerLimit.queryTime.set("often", in: &bounds)
    }
    #expect(mistake?.description == "--query-time is a time from 100ms to 10m, such as 10s.")
    let rate = #expect(throws: ServerLimit.Misuse.self) { try ServerLimit.spaceRate.set("0", in: &bounds) }
    #expect(
      rate?.description
        == "--space-rate is a number from 0.0001 to 1000000; leave the option out for no limit.")
  }

  @Test("The table has every limit as text and as JSON")
  func texts() throws {
    var bounds = ServerBounds()
    try ServerLimit.pulls.set("100", in: &bounds)
    let text = ServerLimit.text(bounds)
    for limit in ServerLimit.all { #expect(text.contains(limit.name), "\(limit.name)") }
    #expect(text.contains("--pulls 100 (64 to 10000)"))
    var writer = JSONWriter()
    ServerLimit.write(bounds, to: &writer)
    let rows = try #require(try JSONValue(parsing: writer.bytes).arrayValue)
    #expect(rows.count == ServerLimit.all.count)
    let pulls = rows.first { $0["name"] == "pulls" }
    #expect(pulls?["option"] == "--pulls" && pulls?["value"]?.doubleValue == 100)
    #expect(pulls?["default"]?.doubleValue == 64 && pulls?["most"]?.doubleValue == 10_000)
    #expect(rows.first { $0["name"] == "space-name" }?["option"] == nil)
  }

  @Test("The page for production has the tables of limits and metrics")
  func documents() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let root = folder.deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/production.md"), encoding: .utf8)
    #expect(page.contains(ServerLimit.markdown), "put this into the page:\n\(ServerLimit.markdown)")
    #expect(page.contains(ServerMetric.markdown), "put this into the page:\n\(ServerMetric.markdown)")
    let scaling = try String(contentsOf: root.appending(path: "docs/scaling.md"), encoding: .utf8)
    #expect(
      scaling.contains(ServerMetric.replicaMarkdown),
      "put this into the page:\n\(ServerMetric.replicaMarkdown)")
  }
}
