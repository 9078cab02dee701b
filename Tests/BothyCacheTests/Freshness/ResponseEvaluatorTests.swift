import BothyCache
import BothyCore
import Foundation
import HTTPTypes
import Testing

@Suite("Effects of a response on the stored entry", .timeLimit(.minutes(5)))
struct ResponseEvaluatorTests {
  private let tile = EntryMetadata.of(200, ["ETag": "\"1\"", "Cache-Control": "max-age=60"])

  private func judge(
    _ answer: ReceivedResponse, stored: EntryMetadata? = nil, rule: FreshnessRule = .http,
    expectation: ContentExpectation? = nil
  ) -> ResponseEvaluator {
    ResponseEvaluator(of: answer, stored: stored, rule: rule, expectation: expectation)
  }

  /// Promises: T-25
  @Test("A 200 replaces the stored entry, with its own lifetime and tag")
  func replaces() throws {
    let answer = ReceivedResponse.of(200, ["ETag": "\"2\"", "Cache-Control": "max-age=5"], at: At.days(1))
    guard case .store(let entry) = judge(answer, stored: tile) else { throw Unexpected() }
    #expect(entry.fields[.eTag] == "\"2\"" && entry.freshness.lifetime == 5000)
    #expect(entry.receivedAt == At.days(1) && entry.validatedAt == At.days(1))
  }

  /// Promises: T-26, B-19b
  @Test("A 200 without a tag is stored without one, so later requests are unconditional")
  func untagged() throws {
    guard case .store(let bare) = judge(.of(200), stored: tile) else { throw Unexpected() }
    #expect(bare.fields[.eTag] == nil && Validation.fields(for: bare).isEmpty)
    let modified = HTTPDate.text(At.days(-2))
    guard case .store(let dated) = judge(.of(200, ["Last-Modified": modified])) else { throw Unexpected() }
    #expect(Validation.fields(for: dated) == .of(["If-Modified-Since": modified]))
  }

  /// Promises: B-33, R-30
  @Test("Each status has one meaning: body, negative, confirmation, retry or error")
  func statuses() {
    let kinds: [(AnswerKind, [Int])] = [
      (.body, [200, 203]), (.negative, [204, 404, 410]), (.notModified, [304]), (.partial, [206]),
      (.redirect, [301, 302, 303, 307, 308]), (.retry, [408, 425, 429, 500, 502, 503, 504]),
      (
        .error,
        [201, 202, 205, 300, 305, 400, 401, 403, 405, 406, 409, 412, 414, 416, 418, 451, 501, 505, 599]
      ),
      (.interim, [100, 102, 103]),
    ]
    for (kind, statuses) in kinds {
      for status in statuses { #expect(AnswerKind(status: status) == kind, "\(status)") }
    }
  }

  /// Promises: T-27, B-33, B-41
  @Test("Errors and partial responses leave the stored entry and its times unchanged")
  func failures() {
    for status in 100..<600 {
      let isAnswer = [200, 203, 204, 304, 404, 410].contains(status)
      if case .fail(let failure) = judge(.of(status, ["Cache-Control": "max-age=99"]), stored: tile) {
        #expect(!isAnswer, "\(status)")
        let again = [408, 425, 429, 500, 502, 503, 504].contains(status) || status < 200
        #expect(failure.status == status && failure.isTransient == again, "\(status)")
      } else {
        #expect(isAnswer, "\(status)")
      }
    }
  }

  /// Promises: T-27
  @Test("Statuses 204, 404 and 410 are stored as negative entries")
  func negative() throws {
    for status in [204, 404, 410] {
      guard case .store(let entry) = judge(.of(status), rule: .fixed(.days(7))) else { throw Unexpected() }
      #expect(AnswerKind.isNegative(entry.status))
    }
  }

  /// Promises: T-27, R-30
  @Test("A busy server's pause is read as seconds and as a date")
  func retryAfter() {
    func wait(_ fields: KeyValuePairs<String, String>) -> Int64? {
      guard case .fail(let failure) = judge(.of(503, fields)) else { return nil }
      return failure.retryAfter
    }
    #expect(wait(["Retry-After": "2"]) == 2000)
    #expect(wait([:]) == nil && wait(["Retry-After": "soon"]) == nil)
    #expect(
      wait(["Date": HTTPDate.text(At.days(9)), "Retry-After": HTTPDate.text(At.days(9) + 30_000)]) == 30_000)
    #expect(wait(["Retry-After": HTTPDate.text(At.hours(-1))]) == 0)
  }

  /// Promises: B-9, T-24
  @Test("A 304 for a removed entry is followed by an unconditional request")
  func phantom() throws {
    #expect(judge(.of(304, ["ETag": "\"1\""], body: ""), stored: nil) == .requestAgain)
    #expect(judge(.of(304, ["ETag": "\"9\""], body: ""), stored: tile) == .requestAgain)
    let answer = ReceivedResponse.of(304, ["ETag": "\"1\""], body: "", at: At.days(1))
    guard case .renew(let entry) = judge(answer, stored: tile) else { throw Unexpected() }
    #expect(entry.state(at: At.days(1)) == .fresh && entry.receivedAt == At.start)
  }

  /// Promises: R-30
  @Test("A network's sign-in page is rejected by its type or by its bytes")
  func captivePortal() {
    let page = "<!DOCTYPE html><html>Sign in</html>"
    let typed = judge(
      .of(200, ["Content-Type": "text/html; charset=utf-8"], body: page), stored: tile, expectation: .json)
    #expect(typed == .fail(ResponseError(status: 200, isTransient: false, mismatch: .mediaType("text/html"))))
    for type in ["application/json", "text/plain", "Application/GeoJSON"] {
      let disguised = judge(.of(200, ["Content-Type": type], body: page), stored: tile, expectation: .json)
      #expect(disguised == .fail(ResponseError(status: 200, isTransient: false, mismatch: .bytes)), "\(type)")
    }
    let picture = judge(.of(200, ["Content-Type": "image/png"], body: page), expectation: .image)
    #expect(picture == .fail(ResponseError(status: 200, isTransient: false, mismatch: .bytes)))
  }

  /// Promises: R-30
  @Test("An empty body is a temporary failure where bytes are expected")
  func empty() {
    let answer = judge(.of(200, body: ""), expectation: .json)
    #expect(answer == .fail(ResponseError(status: 200, isTransient: true, mismatch: .empty)))
    guard case .store = judge(.of(200, body: "")) else {
      return #expect(Bool(false), "nothing is expected here")
    }
  }

  @Test(
    "Expected content is accepted after white space, without a type and by wildcard")
  func expected() {
    let bodies = [" \r\n\t{}", "\u{FEFF}[1]", "{"]
    for body in bodies {
      #expect(ContentExpectation.json.mismatch(fields: [:], body: Data(body.utf8)) == nil)
    }
    let fields = HTTPFields.of(["Content-Type": "IMAGE/Avif"])
    #expect(ContentExpectation(mediaTypes: ["image/*"]).mismatch(fields: fields, body: Data("x".utf8)) == nil)
    #expect(
      ContentExpectation.image.mismatch(fields: fields, body: Data([0x89, 0x50, 0x4E, 0x47, 0])) == nil)
    #expect(ContentExpectation.json.mismatch(fields: [:], body: Data("  ".utf8)) == .bytes)
  }

  @Test("A response that must not be stored is returned, and removes the outdated entry")
  func handedOut() throws {
    guard case .handOut(let entry, .answerForbids, let drops) = judge(.of(200, ["Cache-Control": "no-store"]))
    else { throw Unexpected() }
    #expect(drops && entry.status == 200)
    guard
      case .handOut(_, .requestForbids, let keeps) = judge(.of(200, request: ["Cache-Control": "no-store"]))
    else { throw Unexpected() }
    #expect(!keeps)
  }

  @Test("A proxy returns a server's error unless a stored entry may replace it")
  func proxyErrors() throws {
    var proxy = FreshnessRule.http
    proxy.keepsEveryStatus = true
    guard case .handOut(let entry, .status(503), false) = judge(.of(503), rule: proxy) else {
      throw Unexpected()
    }
    #expect(entry.status == 503)
    let covered = ResponseEvaluator(of: .of(503), stored: tile, rule: proxy, isStoredUsable: true)
    #expect(covered == .fail(ResponseError(status: 503, isTransient: true)))
    guard case .handOut(_, .incomplete, false) = judge(.of(206), stored: tile, rule: proxy) else {
      throw Unexpected()
    }
  }

  private struct Unexpected: Error {}
}
