import BothyServer
import HTTPTypes
import Testing

/// The signatures of the examples of AWS ("Authenticating Requests (AWS Signature Version 4)").
@Suite("Signatures of requests to buckets", .timeLimit(.minutes(5)))
struct S3SignatureTests {
  private let credentials = S3Credentials(
    id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")

  private func authorization(
    _ method: HTTPRequest.Method, _ path: String, _ query: [(name: String, value: String)] = [],
    _ headers: [String: String] = [:], hash: String = S3Signature.emptyHash
  ) -> String {
    var headers = headers
    headers["host"] = "examplebucket.s3.amazonaws.com"
    headers["x-amz-date"] = S3Signature.time(1_369_353_600_000)
    headers["x-amz-content-sha256"] = hash
    return S3Signature.authorization(
      S3Signature.Request(method: method, path: path, query: query, headers: headers), credentials,
      region: "us-east-1")
  }

  private func expected(_ signature: String, _ fields: String) -> String {
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
      + "SignedHeaders=\(fields),Signature=\(signature)"
  }

  @Test("A read of a range has the published signature")
  func get() {
    #expect(
      authorization(.get, "/test.txt", [], ["range": "bytes=0-9"])
        == expected(
          "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
          "host;range;x-amz-content-sha256;x-amz-date"))
  }

  @Test("An upload to a name with a dollar sign has the published signature")
  func put() {
    let hash = S3Signature.hash(Array("Welcome to Amazon S3.".utf8))
    #expect(hash == "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
    let fields = ["date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"]
    #expect(
      authorization(.put, "/" + S3Signature.encoded("test$file.text", isPath: true), [], fields, hash: hash)
        == expected(
          "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
          "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class"))
  }

  @Test("Queries with and without values have the published signatures")
  func queries() {
    let fields = "host;x-amz-content-sha256;x-amz-date"
    #expect(
      authorization(.get, "/", [("lifecycle", "")])
        == expected("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543", fields))
    #expect(
      authorization(.get, "/", [("prefix", "J"), ("max-keys", "2")])
        == expected("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7", fields))
  }

  @Test("Texts are percent-encoded as signatures need them")
  func encoding() {
    #expect(S3Signature.encoded("a-b_c.d~e/ü+ ", isPath: true) == "a-b_c.d~e/%C3%BC%2B%20")
    #expect(S3Signature.encoded("a/b=c&d*") == "a%2Fb%3Dc%26d%2A")
    #expect(S3Signature.queryText([("b", "1"), ("a", "2"), ("a", "1")]) == "a=1&a=2&b=1")
    #expect(S3Signature.time(1_369_353_599_999) == "20130523T235959Z")
  }
}
