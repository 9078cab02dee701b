import BothyHTTP
import BothyStore
import BothySync
import Synchronization

/// A space as a bucket: its collections, and the creation of missing ones.
struct KintoSpace: Sendable {
  let client: KintoClient
  let path: String
  private let makeEpoch: @Sendable () -> String

  /// One type's collection. Its epoch changes if the collection is recreated after the server lost it.
  struct Collection: Sendable, Hashable {
    var id: String
    var epoch: String

    var type: String { KintoName.decode(id) }
  }

  init(client: KintoClient, space: String, makeEpoch: @escaping @Sendable () -> String = { UUIDv7.make() }) {
    self.client = client
    path = "/buckets/" + KintoName.encode(space)
    self.makeEpoch = makeEpoch
  }

  static func records(of collection: String, in path: String) -> String {
    "\(path)/collections/\(collection)/records"
  }

  func records(ofType type: String) -> String { Self.records(of: KintoName.encode(type), in: path) }

  func record(_ id: RecordID) -> String { records(ofType: id.type) + "/" + KintoName.encode(id.id) }

  // MARK: reading

  /// The request that lists the collections. `collections(_:)` reads its response.
  var listing: KintoRequest { KintoRequest(method: "GET", path: path + "/collections?_sort=id") }

  /// Returns the collections, including those on further pages.
  ///
  /// A missing bucket has none and is created. Kinto sends 403 both for a missing bucket and for one that may not be
  /// read, and only its creation distinguishes them.
  func collections(_ answer: KintoAnswer) async throws(RemoteError) -> [Collection] {
    var answer = answer
    if answer.status == 403 || answer.status == 404 {
      guard try await makeBucket() else { throw answer.error ?? BothyRemote.unreadable("403") }
      return []
    }
    var found: [Collection] = []
    while true {
      if let error = answer.error { throw error }
      guard let data = answer.body["data"]?.arrayValue else {
        throw BothyRemote.unreadable("the list of types")
      }
      for json in data {
        guard let id = json["id"]?.stringValue else { continue }
        // A collection of another client has no epoch of ours. Its epoch then changes whenever its settings change.
        let epoch = json["bothy"]?["epoch"]?.stringValue ?? "t\(json["last_modified"]?.intValue ?? 0)"
        found.append(Collection(id: id, epoch: epoch))
      }
      guard let token = answer.nextPage else { return found }
      answer = try await client.send(KintoRequest(method: "GET", path: listing.path + "&_token=" + token))
        .value
    }
  }

  /// Returns true if the collection or the whole bucket is missing. Throws if it may not be read.
  func isMissing(_ answer: KintoAnswer) async throws(RemoteError) -> Bool {
    guard answer.lacksParent else { return false }
    if answer.status == 404 { return true }
    return try await collections(answer).isEmpty
  }

  // MARK: making

  /// Creates the bucket. Returns false if it exists already.
  private func makeBucket() async throws(RemoteError) -> Bool {
    let answer = try await client.send(
      KintoRequest(method: "PUT", path: path, headers: ["If-None-Match": "*"], body: ["data": [:]])
    ).value
    if answer.status == 412 { return false }
    if let error = answer.error { throw error }
    return true
  }

  /// Creates the bucket and the collections of the types if they are missing. Returns false if everything exists.
  func make(_ types: Set<String>) async throws(RemoteError) -> Bool {
    var hasMade = try await makeBucket()
    for type in types.sorted() {
      let answer = try await client.send(
        KintoRequest(
          method: "PUT", path: "\(path)/collections/\(KintoName.encode(type))",
          headers: ["If-None-Match": "*"],
          body: ["data": ["bothy": ["epoch": .string(makeEpoch())]]])
      ).value
      // If this is forbidden, the operations themselves are rejected, each with its reason.
      if answer.status == 412 || answer.status == 403 { continue }
      if let error = answer.error { throw error }
      hasMade = true
    }
    return hasMade
  }
}
