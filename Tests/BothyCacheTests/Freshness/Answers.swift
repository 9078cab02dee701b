import BothyCache
import Foundation
import HTTPTypes

/// Times that the tests of freshness share. The clock starts on 2026-12-01 at midnight UTC.
enum At {
  static let start: Int64 = 1_796_083_200_000
  static func seconds(_ count: Int64) -> Int64 { start + count * 1000 }
  static func hours(_ count: Int64) -> Int64 { start + count * 3_600_000 }
  static func days(_ count: Int64) -> Int64 { start + count * 86_400_000 }
}

extension HTTPFields {
  /// Returns fields in order. A name may occur several times.
  static func of(_ pairs: KeyValuePairs<String, String>) -> HTTPFields {
    var fields = HTTPFields()
    for (name, value) in pairs {
      if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
    }
    return fields
  }
}

extension ReceivedResponse {
  /// Returns a response that came at the time, without delay.
  static func of(
    _ status: Int = 200, _ fields: KeyValuePairs<String, String> = [:], body: String = "map",
    request: KeyValuePairs<String, String> = [:], at time: Int64 = At.start
  ) -> ReceivedResponse {
    ReceivedResponse(
      request: .of(request), status: status, fields: .of(fields), body: Data(body.utf8), requestedAt: time,
      receivedAt: time)
  }
}

extension EntryMetadata {
  /// Returns the stored metadata of a response that came at the time.
  static func of(
    _ status: Int = 200, _ fields: KeyValuePairs<String, String> = [:], rule: FreshnessRule = .http,
    request: KeyValuePairs<String, String> = [:], at time: Int64 = At.start
  ) -> EntryMetadata {
    let fields = HTTPFields.of(fields)
    return EntryMetadata(
      status: status, fields: Storability.storable(fields), requestedAt: time, receivedAt: time,
      validatedAt: time,
      freshness: FreshnessMetadata(
        status: status, fields: fields, requestedAt: time, receivedAt: time, rule: rule),
      variedOn: Vary(fields).values(in: .of(request)))
  }

  func state(
    under rule: FreshnessRule = .http, at now: Int64, isPinned: Bool = false
  ) -> EntryState.State {
    EntryState(of: self, under: rule, at: now, isPinned: isPinned).state
  }

  /// Returns the metadata after a 304.
  func confirmed(
    _ fields: KeyValuePairs<String, String> = [:], rule: FreshnessRule = .http, at time: Int64
  ) -> EntryMetadata? {
    Validation.renewed(self, by: .of(fields), requestedAt: time, receivedAt: time, rule: rule)
  }
}
