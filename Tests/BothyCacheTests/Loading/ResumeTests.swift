import BothyCache
import BothyTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("Bodies that break off", .timeLimit(.minutes(5)))
struct ResumeTests {
  private let whole = Data((0..<4000).map { UInt8(truncatingIfNeeded: $0 / 7) })
  private let temporary: TemporaryFolder
  private var folder: URL { temporary.url("parts") }

  init() throws { temporary = try TemporaryFolder() }

  /// Returns a bench with a server of one body, which breaks off after `breaksAfter` bytes of each response.
  private func bench(
    tag: @escaping @Sendable (Int) -> String? = { _ in "\"v1\"" }, breaksAfter: Int = 1500,
    partials: PartialFiles? = nil,
    failures: Int = 2, honoursRanges: Bool = true
  ) -> FetchBench {
    let whole = whole
    return FetchBench(partials: partials) { request, number in
      let tag = tag(number)
      var answer = ScriptedLoader.Answer(200, fields: [.contentType: "image/png"])
      answer.fields[.eTag] = tag
      var body = whole
      if let range = request.fields[.range], honoursRanges, request.fields[.ifRange] == tag,
        let start = Int(range.dropFirst("bytes=".count).dropLast())
      {
        answer.status = 206
        answer.fields[.contentType] = nil
        answer.fields[.contentRange] = "bytes \(start)-\(whole.count - 1)/\(whole.count)"
        body = whole[start...]
      }
      answer.fields[.contentLength] = String(body.count)
      if number <= failures {
        body = body.prefix(breaksAfter)
        answer.breaksOff = LoadFailure(.truncated, "Gone.")
      }
      answer.pieces = stride(from: 0, to: body.count, by: 400).map { Data(body.dropFirst($0).prefix(400)) }
      return answer
    }
  }

  /// Promises: E-10
  @Test("The rest is requested and joined only under an equal strong validator")
  func resumed() async throws {
    let bench = bench()
    let answer = try await bench.fetch(FetchBench.order { $0.fields[.ifNoneMatch] = "\"v0\"" })
    #expect(answer.body == whole)
    #expect(answer.status == 200)
    #expect(answer.wasResumed)
    #expect(answer.fields[.contentLength] == "4000")
    #expect(answer.fields[.contentType] == "image/png")
    #expect(answer.fields[.contentRange] == nil)
    let sent = bench.loader.requests.map(\.fields)
    #expect(sent.map { $0[.range] } == [nil, "bytes=1500-", "bytes=3000-"])
    #expect(sent.map { $0[.ifRange] } == [nil, "\"v1\"", "\"v1\""])
    #expect(sent.map { $0[.ifNoneMatch] } == ["\"v0\"", nil, nil])
  }

  /// Promises: E-10
  @Test("The whole body is requested if the server has other bytes or no ranges")
  func startedOver() async throws {
    let changed = bench(tag: { $0 == 1 ? "\"v1\"" : "\"v2\"" }, failures: 1)
    let answer = try await changed.fetch()
    #expect(answer.body == whole)
    #expect(!answer.wasResumed)
    #expect(answer.fields[.eTag] == "\"v2\"")
    let deaf = bench(failures: 1, honoursRanges: false)
    #expect(try await deaf.fetch().body == whole)
    #expect(deaf.loader.requests.count == 2)
  }

  /// Promises: E-10
  @Test("A body without a strong validator or with an undone coding isn't resumed")
  func notResumable() async throws {
    for tag in ["W/\"v1\"", nil] {
      let bench = bench(tag: { _ in tag }, failures: 1)
      #expect(try await bench.fetch().body == whole)
      #expect(bench.loader.requests[1].fields[.range] == nil)
    }
    let coded = FetchBench { [whole] _, number in
      var answer = ScriptedLoader.Answer(200, fields: [.eTag: "\"v1\""])
      answer.wasCoded = true
      answer.pieces = [number == 1 ? whole.prefix(10) : whole]
      answer.breaksOff = number == 1 ? LoadFailure(.truncated, "Gone.") : nil
      return answer
    }
    #expect(try await coded.fetch().body == whole)
    #expect(coded.loader.requests[1].fields[.range] == nil)
  }

  @Test(
    "A part that does not fit is discarded, and the whole body requested",
    arguments: [
      "bytes 0-3999/4000", "bytes 1499-3999/4000", "bytes 1501-3999/4000", "bytes 1500-3998/4000",
      "bytes 1500-4999/5000", "bytes 1500-3999", "items 1500-3999/4000", "bytes */4000", "",
    ])
  func unfitting(range: String) async throws {
    let whole = whole
    let bench = FetchBench { request, number in
      var answer = ScriptedLoader.Answer(200, fields: [.eTag: "\"v1\"", .contentLength: "4000"])
      answer.pieces = [whole]
      if number == 1 {
        answer.pieces = [whole.prefix(1500)]
        answer.breaksOff = LoadFailure(.truncated, "Gone.")
      } else if request.fields[.range] != nil {
        answer.status = 206
        answer.fields = [.eTag: "\"v1\"", .contentRange: range]
        answer.pieces = [whole.suffix(2500)]
      }
      return answer
    }
    let answer = try await bench.fetch()
    #expect(answer.body == whole)
    #expect(!answer.wasResumed)
    #expect(bench.loader.requests.map { $0.fields[.range] } == [nil, "bytes=1500-", nil])
  }

  @Test("An unsatisfiable range starts over")
  func unsatisfiable() async throws {
    let whole = whole
    let bench = FetchBench { request, number in
      if request.fields[.range] != nil { return .init(416) }
      var answer = ScriptedLoader.Answer(200, fields: [.eTag: "\"v1\""])
      answer.pieces = [number == 1 ? whole.prefix(9) : whole]
      answer.breaksOff = number == 1 ? LoadFailure(.truncated, "Gone.") : nil
      return answer
    }
    #expect(try await bench.fetch().body == whole)
  }

  /// Promises: E-10
  @Test(
    "The beginning of a large body survives on disk for another process"
  )
  func acrossProcesses() async throws {
    let partials = PartialFiles(folder, threshold: 1000)
    let order = FetchBench.order { $0.retry = .once }
    #expect(await bench(partials: partials).failure(order) == .truncated)
    let kept = try #require(partials.read(order.urls[0]))
    #expect(kept.bytes == whole.prefix(1500))
    #expect(kept.validator == "\"v1\"")
    let next = bench(partials: PartialFiles(folder, threshold: 1000), failures: 0)
    let answer = try await next.fetch(order)
    #expect(answer.body == whole)
    #expect(answer.wasResumed)
    #expect(answer.fields[.contentType] == "image/png")
    #expect(next.loader.requests.map { $0.fields[.range] } == ["bytes=1500-"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  /// Returns an order for a picture, after whose first request the beginning of the body is on disk.
  private func begun(_ partials: PartialFiles) async -> FetchOrder {
    let order = FetchBench.order {
      $0.retry = .once
      $0.expectation = ContentExpectation(mediaTypes: ["image/*"])
    }
    #expect(await bench(partials: partials).failure(order) == .truncated)
    return order
  }

  @Test("A page in place of the rest leaves the beginning for later")
  func page() async throws {
    let partials = PartialFiles(folder, threshold: 1000)
    let order = await begun(partials)
    let portal = FetchBench(partials: partials) { _, _ in
      .init(200, fields: [.contentType: "text/html"], "<html>Sign in")
    }
    #expect(await portal.failure(order) == .unexpectedType("text/html"))
    let later = bench(partials: partials, failures: 0)
    #expect(try await later.fetch(order).body == whole)
    #expect(later.loader.requests.map { $0.fields[.range] } == ["bytes=1500-"])
  }

  @Test(
    "Requests with another method don't ask for the rest of a body",
    arguments: [HTTPRequest.Method.head, .post])
  func methods(method: HTTPRequest.Method) async throws {
    let partials = PartialFiles(folder, threshold: 1000)
    var order = await begun(partials)
    order.method = method
    let other = FetchBench(partials: partials) { _, _ in .init(200, fields: [.contentType: "image/png"]) }
    #expect(try await other.fetch(order).status == 200)
    #expect(other.loader.requests.map { $0.fields[.range] } == [nil])
    #expect(partials.read(order.urls[0])?.bytes == whole.prefix(1500))
  }

  /// Promises: E-10
  @Test("A file that is torn or changed anywhere only returns bytes that came")
  func torn() async throws {
    let partials = PartialFiles(folder, threshold: 1)
    let order = FetchBench.order { $0.retry = .once }
    #expect(await bench(partials: partials).failure(order) == .truncated)
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
    let file = folder.appending(path: name)
    let data = try Data(contentsOf: file)
    for place in stride(from: 0, to: data.count, by: 13) {
      try data.prefix(place).write(to: file)
      if let read = partials.read(order.urls[0]) { #expect(whole.starts(with: read.bytes)) }
      var changed = data
      changed[place] ^= 0x40
      try changed.write(to: file)
      if let read = partials.read(order.urls[0]) { #expect(whole.starts(with: read.bytes)) }
    }
  }

  /// Promises: E-10
  @Test("Expired and invalid files are deleted at start-up")
  func sweep() async throws {
    let partials = PartialFiles(folder, threshold: 1000)
    _ = await bench(partials: partials).failure(FetchBench.order { $0.retry = .once })
    try Data("torn".utf8).write(to: folder.appending(path: "0.part"))
    #expect(partials.sweep(now: Date()) == 1)
    #expect(partials.read(FetchBench.order().urls[0]) != nil)
    #expect(partials.sweep(now: Date(timeIntervalSinceNow: 86_401)) == 1)
    #expect(partials.read(FetchBench.order().urls[0]) == nil)
    #expect(PartialFiles(folder.appending(path: "none")).sweep(now: Date()) == 0)
  }

  @Test("A body that is too large leaves no file on disk")
  func tooLarge() async throws {
    let whole = whole
    let bench = FetchBench(partials: PartialFiles(folder, threshold: 1000)) { _, _ in
      var answer = ScriptedLoader.Answer(200, fields: [.eTag: "\"v1\""])
      answer.pieces = [whole.prefix(1200), whole.suffix(2800)]
      return answer
    }
    #expect(await bench.failure(FetchBench.order { $0.bodyLimit = 2000 }) == .tooLarge(limit: 2000))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }
}
