/** The answer about a purchase code, as somebody writes it who wants to know what they got. */
module.exports = (z) => {
  const item = z.object({
    id: z.int(),
    name: z.string(),
    description: z.string().optional(),
    category: z.string().optional(),
    sub_category: z.string().optional(),
    options: z.array(z.string()).optional(),
    version: z.string().optional(),
    demo_link: z.string().optional(),
    tags: z.array(z.string()).optional(),
    media: z.object({
      thumbnail: z.string(),
      preview_image: z.string().optional(),
      preview_video: z.string().optional(),
      preview_audio: z.string().optional(),
      screenshots: z.array(z.string()).optional(),
    }),
    price: z.object({ regular: z.number(), extended: z.number() }).partial().optional(),
    currency: z.string().optional(),
    published_at: z.string().optional(),
  });
  const purchase = z.object({
    purchase_code: z.string(),
    license_type: z.string(),
    price: z.number(),
    currency: z.string(),
    item,
    supported_until: z.string().optional(),
    downloaded: z.boolean(),
    date: z.string(),
  });
  return z.object({ status: z.literal('success'), data: z.object({ purchase }) });
};
