import BothyHTTP
import BothyStore
import BothySync

/// The records of the last query, so that its further pages need not read the whole type again.
actor KintoAnswerCache {
  private struct Kept {
    var query: AnyQuery
    var stamp: Int64
    var records: [ServerRecord]
  }

  /// The largest kept result. A larger one is read again for each page.
  private static let limit = 20_000

  private var kept: Kept?

  /// Returns the records of the query if they are kept and the type has not changed since. Costs one request if so.
  func records(of query: AnyQuery, space: KintoSpace) async throws(RemoteError) -> [ServerRecord]? {
    guard let kept, kept.query == Self.whole(query) else { return nil }
    let request = KintoRequest(method: "GET", path: space.records(ofType: query.type) + "?_limit=1")
    return try await space.client.send(request).value.timestamp == kept.stamp ? kept.records : nil
  }

  func keep(_ answer: KintoQuery.Matches, to query: AnyQuery) {
    guard let stamp = answer.stamp, let limit = query.limit, answer.records.count > limit,
      answer.records.count <= Self.limit
    else {
      kept = nil
      return
    }
    kept = Kept(query: Self.whole(query), stamp: stamp, records: answer.records)
  }

  private static func whole(_ query: AnyQuery) -> AnyQuery {
    var query = query
    query.limit = nil
    query.offset = 0
    return query
  }
}
