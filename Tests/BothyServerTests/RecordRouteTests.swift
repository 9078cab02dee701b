import BothyServer
import BothyStore
import BothySync
import BothySyncService
import HTTPTypes
import Testing

@Suite("Records by address", .timeLimit(.minutes(5)))
struct RecordRouteTests {
  private let address = "/v1/spaces/hut/records/Todo/1"

  @Test("PUT creates a record that GET returns, with its version as tag")
  func create() async throws {
    try await ServerUnderTest().run { call in
      let created = try await call(.put, address, #"{"fields":{"title":"a","gone":null}}"#)
      #expect(created.status == 201)
      #expect(created.tag == "\"1\"")
      #expect(created.headers[.location] == address)
      let expected =
        #"{"type":"Todo","id":"1","container":"Todo","version":"1","modified":1000,"created":1000,"owner":"anyone","#
        + #""fields":{"title":"a"}}"#
      #expect(created.text == expected)
      let found = try await call(.get, address)
      #expect(found.status == 200)
      #expect(found.text == expected)
      #expect(found.tag == "\"1\"")
      #expect(found.headers[.contentType] == "application/json")
    }
  }

  @Test("An address matches the record with its exact bytes, byte order mark included")
  func bytes() async throws {
    try await ServerUnderTest().run { call in
      let marked = "/v1/spaces/hut/records/Todo/%EF%BB%BF1"
      #expect(try await call(.put, address, #"{"fields":{"title":"a"}}"#).status == 201)
      #expect(try await call(.get, marked).status == 404)
      #expect(try await call(.put, marked, #"{"fields":{"title":"b"}}"#, [.ifNoneMatch: "*"]).status == 201)
      let other = try await call(.get, marked).json()
      #expect(other["id"] == "\u{FEFF}1")
      let first = try await call(.get, address).json()
      #expect(first["fields"] == ["title": "a"])
      for broken in ["%", "%4", "%zz", "%EF%BB"] {
        let answer = try await call(.get, address + broken)
        #expect(answer.status == 400)
      }
    }
  }

  @Test(
    "A record is replaced and moved only under If-Match, all fields at once"
  )
  func replace() async throws {
    try await ServerUnderTest().run { call in
      _ = try await call(.put, address, #"{"fields":{"a":1,"b":2}}"#, [.ifNoneMatch: "*"])
      #expect(try await call(.put, address, #"{"fields":{}}"#).status == 428)
      #expect(try await call(.put, address, #"{"fields":{}}"#, [.ifNoneMatch: "*"]).status == 412)
      #expect(try await call(.put, address, #"{"fields":{}}"#, [.ifMatch: #""9""#]).status == 412)
      #expect(try await call(.put, address, #"{"fields":{}}"#, [.ifMatch: #"W/"1""#]).status == 412)
      let reply = try await call(.put, address, #"{"fields":{"b":3,"c":4}}"#, [.ifMatch: #""7", "1""#])
      #expect(reply.status == 200)
      #expect(reply.tag == "\"2\"")
      #expect(try reply.json()["fields"] == ["b": 3, "c": 4])
      #expect(try await call(.get, address).text == reply.text)
      let moved = try await call(.put, address, #"{"container":"x","fields":{}}"#, [.ifMatch: "*"])
      #expect(moved.status == 200)
      #expect(try moved.json()["container"] == "x")
    }
  }

  @Test("If-Match on a missing record is 412 for PUT, 404 for PATCH and DELETE")
  func absent() async throws {
    try await ServerUnderTest().run { call in
      let put = try await call(.put, address, #"{"fields":{}}"#, [.ifMatch: "*"])
      #expect(put.status == 412)
      #expect(try await call(.patch, address, "{}", [.ifMatch: "*"]).status == 404)
      #expect(try await call(.delete, address, nil, [.ifMatch: "*"]).status == 404)
      #expect(try await call(.get, address).status == 404)
    }
  }

  @Test("PATCH merges as RFC 7396 defines, in nested objects too")
  func patch() async throws {
    try await ServerUnderTest().run { call in
      _ = try await call(.put, address, #"{"fields":{"a":{"x":1,"y":2},"b":[1,2],"c":"c"}}"#)
      #expect(try await call(.patch, address, "{}").status == 428)
      let reply = try await call(
        .patch, address, #"{"a":{"x":null,"z":{"n":null}},"b":[3],"c":null,"d":1}"#,
        [.ifMatch: #""1""#, .contentType: "application/merge-patch+json; charset=utf-8"])
      #expect(reply.status == 200)
      #expect(try reply.json()["fields"] == ["a": ["y": 2, "z": [:]], "b": [3], "d": 1])
      #expect(try await call(.get, address).text == reply.text)
      #expect(try await call(.patch, address, "[]", [.ifMatch: "*"]).status == 422)
      #expect(try await call(.patch, address, "{}", [.ifMatch: #""1""#]).status == 412)
      let same = try await call(.patch, address, "{}", [.ifMatch: "*"])
      #expect(same.status == 200)
      #expect(same.tag == reply.tag)
    }
  }

  @Test("DELETE leaves a tombstone: 204, then 410, and PUT restores the record")
  func delete() async throws {
    try await ServerUnderTest().run { call in
      _ = try await call(.put, address, #"{"fields":{}}"#)
      #expect(try await call(.delete, address).status == 428)
      #expect(try await call(.delete, address, nil, [.ifMatch: #""5""#]).status == 412)
      let deleted = try await call(.delete, address, nil, [.ifMatch: #""1""#])
      #expect(deleted.status == 204)
      #expect(deleted.bytes.isEmpty)
      #expect(try await call(.get, address).status == 410)
      #expect(try await call(.patch, address, "{}", [.ifMatch: "*"]).status == 410)
      #expect(try await call(.delete, address, nil, [.ifMatch: "*"]).status == 410)
      let back = try await call(.put, address, #"{"fields":{"t":1}}"#, [.ifNoneMatch: "*"])
      #expect(back.status == 201)
      #expect(back.tag == "\"3\"")
    }
  }

  @Test("GET of a current copy is 304, and HEAD has all but the body")
  func conditionalGet() async throws {
    try await ServerUnderTest().run { call in
      let created = try await call(.put, address, #"{"fields":{}}"#)
      let same = try await call(.get, address, nil, [.ifNoneMatch: #"W/"0", W/"1""#])
      #expect(same.status == 304)
      #expect(same.bytes.isEmpty)
      #expect(same.tag == "\"1\"")
      #expect(try await call(.get, address, nil, [.ifNoneMatch: #""2""#]).status == 200)
      #expect(try await call(.get, address, nil, [.ifMatch: #""2""#]).status == 412)
      let head = try await call(.head, address)
      #expect(head.status == 200)
      #expect(head.bytes.isEmpty)
      #expect(head.headers[.contentLength] == String(created.bytes.count))
      #expect(try await call(.get, address, nil, [.ifMatch: "nonsense"]).status == 400)
    }
  }

  @Test(
    "Names are decoded once, whatever they contain",
    arguments: [
      ("a%3Ab", "a:b"), ("a%2Fb%3Fc", "a/b?c"), ("%E2%9B%B0", "⛰"), ("%2525", "%25"), ("a+b", "a+b"),
      ("%20", " "),
    ])
  func names(encoded: String, id: String) async throws {
    try await ServerUnderTest().run { call in
      let address = "/v1/spaces/hut/records/Todo/\(encoded)"
      let created = try await call(.put, address, #"{"fields":{}}"#)
      #expect(created.status == 201)
      #expect(try created.json()["id"]?.stringValue == id)
      let location = try #require(created.headers[.location])
      #expect(try await call(.get, location).text == created.text)
    }
  }

  @Test(
    "A malformed address or body is 400",
    arguments: [
      ("/v1/spaces/hut/records/Todo/%zz", #"{"fields":{}}"#),
      ("/v1/spaces/hut/records/Todo/%ff", #"{"fields":{}}"#),
      ("/v1/spaces/hut/records/Todo/%00", #"{"fields":{}}"#),
      ("/v1/spaces/hut/records/Todo/1", #"{"fields":1}"#),
      ("/v1/spaces/hut/records/Todo/1", #"{}"#), ("/v1/spaces/hut/records/Todo/1", #"{"fields":{},"x":1}"#),
      ("/v1/spaces/hut/records/Todo/1", ""), ("/v1/spaces/hut/records/Todo/1", #"{"fields":{}} x"#),
    ])
  func malformed(address: String, body: String) async throws {
    try await ServerUnderTest().run { call in
      let reply = try await call(.put, address, body)
      #expect(reply.status == 400)
      #expect(try reply.code() != nil)
    }
  }

  @Test("The body may repeat the address but not name another record")
  func names() async throws {
    try await ServerUnderTest().run { call in
      #expect(try await call(.put, address, #"{"type":"Todo","id":"2","fields":{}}"#).status == 422)
      let created = try await call(.put, address, #"{"type":"Todo","id":"1","fields":{}}"#)
      #expect(try await call(.put, address, created.text, [.ifMatch: "*"]).status == 200)
    }
  }

  @Test("A response has values in the form in which GET returns them")
  func forms() async throws {
    let schema = try StoreSchema(
      json:
        #"{"version":1,"types":[{"name":"Todo","fields":[{"name":"due","type":"date","optional":true}]}]}"#)
    try await ServerUnderTest(rules: AccessRules(schema: schema)).run { call in
      let text = #"{"fields":{"due":"1970-01-01T00:00:01Z"}}"#
      let created = try await call(.put, address, text)
      let expected: JSONValue = ["due": 1000]
      #expect(try created.json()["fields"] == expected)
      #expect(try await call(.get, address).text == created.text)
      for (method, body) in [
        (HTTPRequest.Method.put, text), (.patch, #"{"due":"1970-01-01T01:00:01+01:00"}"#),
      ] {
        let reply = try await call(method, address, body, [.ifMatch: "*"])
        #expect(reply.status == 200 && reply.tag == created.tag, "\(method)")
        #expect(try reply.json()["fields"] == expected, "\(method)")
      }
    }
  }

  @Test("An invalid field is 422, too large is 413, forbidden is 403")
  func refusals() async throws {
    let rules = AccessRules(schema: try todoSchema(Permissions(delete: .nobody)), recordSizeLimit: 100)
    try await ServerUnderTest(rules: rules).run { call in
      let invalid = try await call(.put, address, #"{"fields":{"title":1,"x":2}}"#)
      #expect(invalid.status == 422)
      let fields = try invalid.json()["error"]?["fields"]?.arrayValue ?? []
      #expect(fields.map { $0["field"] } == ["title", "x"])
      #expect(try await call(.put, "/v1/spaces/hut/records/Other/1", #"{"fields":{}}"#).status == 422)
      let long = String(repeating: "x", count: 200)
      #expect(try await call(.put, address, #"{"fields":{"title":"\#(long)"}}"#).status == 413)
      #expect(try await call(.put, address, #"{"fields":{"title":"a"}}"#).status == 201)
      #expect(try await call(.delete, address, nil, [.ifMatch: "*"]).status == 403)
    }
  }
}
